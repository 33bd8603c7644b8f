"""The fixture matrix: each case as the bytes to evaluate, and what is expected of them."""

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

from retryproof import resources

FOLDER = resources.path_of("fixtures/retryfuse")
CATEGORIES = ("positive", "negative", "malformed", "missing-data", "adversarial")


class Case(NamedTuple):
    path: Path
    document: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = self.document["expect"]
        return expected

    @property
    def data(self) -> bytes:
        """The input: a JSON value, or text or bytes where it is not one."""
        if "input" in self.document:
            return json.dumps(self.document["input"]).encode()
        if "inputText" in self.document:
            return str(self.document["inputText"]).encode()
        return base64.b64decode(self.document["inputBase64"], validate=True)


CASES = [Case(path, json.loads(path.read_text())) for path in sorted(FOLDER.glob("*/*.json"))]

"""The fixture matrix as a suite: one case a file, each an input and the answer that it must get.

Only JSON values can be sent as the parameters of a call. The cases that are texts or bytes which
are no JSON try a reader of files, and are counted here.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, replace
from retryproof_protocol.messages import ContractReference, Evaluation
from retryproof_protocol.strictjson import StrictJSONError, decode

from .faults import FAULTS, FaultDescription
from .report import AnyStatus, Decision
from .request import CONTRACT_VERSION

CONTRACT = ContractReference("retryfuse", CONTRACT_VERSION)

Category: TypeAlias = Literal["positive", "negative", "malformed", "missing-data", "adversarial"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

NOT_COVERED = (
    "inputs that are not JSON values",
    "how the evidence was gathered",
    "whether a client obeys the decision",
)
NOT_JSON = "They are texts or bytes that are no JSON, which no call can carry."

_ABSENT = Raw()
_LINE_BREAK = re.compile(rb"\s*[\r\n]\s*")
"""Between two tokens: in a string, JSON has none."""


class Answered(Struct, frozen=True):
    """An implementation's answer; `refused` if it was a JSON-RPC error."""

    decision: Decision | None
    status: Literal["pass", "fail", "unknown", "refused"]


REFUSED = Answered(None, "refused")


class Case(Struct, frozen=True):
    """A case that can be sent: `input` is one line of JSON, its numbers as they were written."""

    name: str
    category: Category
    input: bytes
    expected: Answered


class Expectation(Struct, frozen=True):
    """What a case's file says of its answer."""

    decision: Decision | None
    status: AnyStatus
    exit: int


class CaseFile(Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A case as its file has it, its input in one of three forms."""

    name: str
    category: Category
    expect: Expectation
    input: Raw = _ABSENT
    input_text: str | None = None
    input_base64: str | None = None

    @property
    def data(self) -> bytes:
        """The input, on one line if it is JSON."""
        if self.input != _ABSENT:
            return _LINE_BREAK.sub(b"", bytes(self.input))
        if self.input_text is not None:
            return self.input_text.encode()
        return base64.b64decode(self.input_base64 or "", validate=True)


class Matrix(Struct, frozen=True):
    """All cases, in the order of their categories and names.

    Attributes:
        cases: those that can be sent.
        unsendable: the names of the others.
        digest: `sha256:` and the hash of the document's encoded form without its digest.
        document: what `retryproof fixtures --suite retryfuse` prints.
    """

    cases: tuple[Case, ...]
    unsendable: tuple[str, ...]
    digest: str
    document: Mapping[str, Any]


def load_matrix(files: Iterable[bytes]) -> Matrix:
    """The matrix from the content of its files.

    Raises:
        msgspec.DecodeError: one of them has another form.
    """
    loaded = [msgspec.json.decode(content, type=CaseFile) for content in files]
    loaded.sort(key=lambda case: (CATEGORIES.index(case.category), case.name))
    sendable = {case.name: data for case in loaded if (data := _as_line(case.data)) is not None}
    document = _document(loaded)
    return Matrix(
        cases=tuple(
            Case(case.name, case.category, sendable[case.name], _expected(case.expect))
            for case in loaded
            if case.name in sendable
        ),
        unsendable=tuple(case.name for case in loaded if case.name not in sendable),
        digest=document["digest"],
        document=document,
    )


def answered(evaluation: Evaluation) -> Answered:
    """An answer of the protocol, as one to compare."""
    return Answered(evaluation.decision, evaluation.status)


def _expected(expectation: Expectation) -> Answered:
    if expectation.status == "unverified":
        return REFUSED
    return Answered(expectation.decision, expectation.status)


def _as_line(data: bytes) -> bytes | None:
    """One line of JSON, or None if it is none."""
    try:
        decode(data)
    except StrictJSONError:
        return None
    return _LINE_BREAK.sub(b" ", data.strip())


def _document(files: Iterable[CaseFile]) -> dict[str, Any]:
    content = {
        "schema": "retryproof.fuse-matrix/1",
        "name": CONTRACT.name,
        "version": CONTRACT.version,
        "categories": CATEGORIES,
        "cases": [_compact(case) for case in files],
        "faults": [_describe(fault) for fault in FAULTS.values()],
        "notCovered": NOT_COVERED,
    }
    return content | {
        "digest": f"sha256:{hashlib.sha256(msgspec.json.encode(content)).hexdigest()}"
    }


def _compact(case: CaseFile) -> CaseFile:
    return case if case.input == _ABSENT else replace(case, input=Raw(case.data))


def _describe(fault: FaultDescription) -> dict[str, Any]:
    return asdict(fault)

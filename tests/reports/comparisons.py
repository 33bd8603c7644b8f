"""The answers of `check`, `reduce` and `compare` to representative artifacts."""

import json
from typing import Any

from retryproof import app, resources
from retryproof.contract.artifacts import Submission, read_submission
from retryproof.contract.check import check
from retryproof.contract.compare import compare
from retryproof.contract.reduce import reduce

from tests.bundle import BUNDLE


def _submission(content: Any) -> Submission:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_submission(data, BUNDLE.mission)


def _step(at: int, delivery: str = "received") -> dict[str, Any]:
    return {"at": at, "key": "A", "value": "A", "delivery": delivery}


_SEED = _submission(resources.read_bytes(app.SEED_FILE))
_MINIMAL = _submission({"target": "forget-on-loss", "steps": [_step(1, "lost"), _step(3)]})
_AGREEING = _submission({"target": "sliding-expiry", "steps": [_step(0), _step(5)]})
_REFUSED = _submission(
    {
        "artifact": {"target": "slow", "steps": [_step(3), {**_step(1), "at": True}, _step(2)]},
        "by": 1,
    }
)
_NO_JSON = _submission(b"{'target': 'body-blind'}")
_SUBMISSIONS = {
    "accepted": _SEED,
    "minimal": _MINIMAL,
    "not-accepted": _AGREEING,
    "refused": _REFUSED,
    "no-json": _NO_JSON,
}

CHECKS = {name: check(read, BUNDLE.not_covered) for name, read in _SUBMISSIONS.items()}
REDUCTIONS = {
    "accepted": reduce(_SEED, BUNDLE.not_covered, False),
    "all": reduce(_SEED, BUNDLE.not_covered, True),
    "minimal": reduce(_MINIMAL, BUNDLE.not_covered, True),
    "not-accepted": reduce(_AGREEING, BUNDLE.not_covered, True),
    "refused": reduce(_REFUSED, BUNDLE.not_covered, False),
}
COMPARISONS = {
    "yes": compare(_SEED, _MINIMAL, BUNDLE.not_covered),
    "no": compare(_MINIMAL, _SEED, BUNDLE.not_covered),
    "targets": compare(_SEED, _AGREEING, BUNDLE.not_covered),
    "refused": compare(_REFUSED, _NO_JSON, BUNDLE.not_covered),
}

"""retryfuse: is it safe to send that again? A pure decision over what is known of an operation.

`evaluate` judges a typed request, `evaluate_json` the bytes of one. Nothing here reads a file,
a clock or a random number.
"""

from .attempts import Attempt, Outcome, Phase
from .decision import evaluate
from .reading import MAX_INPUT_BYTES, evaluate_json, read_request
from .report import (
    EXIT_STATUS_OF,
    Answer,
    AnyStatus,
    Circuit,
    Decision,
    Problem,
    Reason,
    Report,
    Status,
    Unverified,
    encode,
    exit_status_of,
    worst_status,
)
from .request import Operation, Policy, PriorRecord, RecordStatus, Request

__all__ = [
    "EXIT_STATUS_OF",
    "MAX_INPUT_BYTES",
    "Answer",
    "AnyStatus",
    "Attempt",
    "Circuit",
    "Decision",
    "Operation",
    "Outcome",
    "Phase",
    "Policy",
    "PriorRecord",
    "Problem",
    "Reason",
    "RecordStatus",
    "Report",
    "Request",
    "Status",
    "Unverified",
    "encode",
    "evaluate",
    "evaluate_json",
    "exit_status_of",
    "read_request",
    "worst_status",
]

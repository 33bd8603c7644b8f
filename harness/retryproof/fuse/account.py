"""What a case is about, and why its answer must be what it is, in sentences."""

from collections import Counter

from msgspec import UNSET, Struct

from .attempts import Attempt
from .decision import evaluate
from .matrix import Case
from .reading import read_request
from .report import Circuit
from .request import PriorRecord, Request

_PHASES = {"pre_write": "before the write", "post_write": "after the write had begun"}
_REFUSE = "Refuse it with a JSON-RPC error, and decide nothing."
_SHOWN_PROBLEMS = 3


class Account(Struct, frozen=True):
    """A case in words.

    Attributes:
        about: what is known of the operation, in a sentence.
        why: the reason for the contract's answer.
        advice: what a client must do now.
    """

    about: str
    why: str
    advice: str


def explain(case: Case) -> Account:
    """The words for a case."""
    request = read_request(case.input)
    if not isinstance(request, Request):
        problems = request.errors[:_SHOWN_PROBLEMS]
        why = " ".join(f"{problem.path or 'The input'} {problem.message}" for problem in problems)
        return Account("It is no valid request.", why, _REFUSE)
    report = evaluate(request)
    about = f"{_record(request, report.fingerprint)}; {_attempts(request, report.circuit)}."
    return Account(about, report.reasons[0].message, report.advice)


def _record(request: Request, fingerprint: str | None) -> str:
    record = request.prior_record
    if record is UNSET or record is None:
        return "There is no record"
    status = {"in_flight": "in flight", "completed": "completed"}.get(
        str(record.status), "without a status"
    )
    return f"There is a record {status}, {_owner(record, fingerprint)}, {_committed(record)}"


def _owner(record: PriorRecord, fingerprint: str | None) -> str:
    if record.request_hash is UNSET or fingerprint is None:
        return "which cannot be compared with this request"
    return "of this request" if record.request_hash == fingerprint else "of another request"


def _committed(record: PriorRecord) -> str:
    if record.write_committed is True:
        return "its write committed"
    return "its write not committed" if record.write_committed is False else "its write in doubt"


def _attempts(request: Request, circuit: Circuit) -> str:
    attempts = request.attempts or ()
    if not attempts:
        return "no attempt was made"
    kinds = Counter(map(_kind, attempts))
    listed = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    noun = "attempt" if len(attempts) == 1 else "attempts"
    units = "unit" if circuit.spent_units == 1 else "units"
    return (
        f"{len(attempts)} {noun} ({listed}), {circuit.failure_streak} in a row without success "
        f"(the limit is {circuit.failure_threshold}), {circuit.spent_units} {units} spent of "
        f"{circuit.budget_units}"
    )


def _kind(attempt: Attempt) -> str:
    outcome = "of unknown outcome" if attempt.outcome in {UNSET, "unknown"} else attempt.outcome
    phase = _PHASES.get(str(attempt.phase), "in an unknown phase")
    return f"{outcome} {phase}"

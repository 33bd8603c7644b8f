"""From a request to a report: the facts are measured, then the table judges them."""

from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from .attempts import Kind, Tally, sum_up
from .facts import Comparison, Facts
from .numerals import shown
from .report import STATUS_OF, Circuit, Decision, Reason, Report, Status
from .request import (
    DEFAULT_BUDGET_UNITS,
    DEFAULT_FAILURE_THRESHOLD,
    Policy,
    PriorRecord,
    RecordStatus,
    Request,
)
from .table import OTHERWISE, TABLE, Ground, Row

_REMEMBERED_VERDICTS = 4096
"""There are more combinations of facts than that, but few of them occur."""

_GivenRecord: TypeAlias = tuple[
    RecordStatus | UnsetType | None, bool | Literal["unknown"] | UnsetType, Comparison
]
_NO_RECORD: _GivenRecord = (None, UNSET, "neither")
_DEFAULT_POLICY = Policy()


class Verdict(Struct, frozen=True):
    """What the table says: the decision, each row that applies, and the advice."""

    decision: Decision
    status: Status
    reasons: tuple[Reason, ...]
    advice: str


def evaluate(request: Request) -> Report:
    """Whether the operation may be sent again, why, and what to do.

    A request that was read is valid. One that was built in code is checked here as far as its
    constructors have not done it.

    Raises:
        ValueError: there are too many attempts, one of them has a member that its type does not
            allow, or the body has no fingerprint.
    """
    tally, fingerprint = sum_up(request.attempts or ()), request.operation.fingerprint()
    circuit = _circuit(tally, request.policy or _DEFAULT_POLICY)
    verdict = _look_up(
        tally.kinds,
        circuit.failure_streak >= circuit.failure_threshold,
        circuit.spent_units >= circuit.budget_units,
        _given_record(request.prior_record, fingerprint),
    )
    return Report(
        decision=verdict.decision,
        status=verdict.status,
        reasons=verdict.reasons,
        fingerprint=fingerprint,
        circuit=circuit,
        advice=verdict.advice,
    )


def judge(facts: Facts) -> Verdict:
    """The table's answer to the facts."""
    found = [(row, grounds) for row in TABLE if (grounds := row.applying(facts))]
    found = found or [(OTHERWISE, OTHERWISE.applying(facts))]
    row, grounds = found[0]
    reasons = tuple(_reason(row, grounds) for row, grounds in found)
    return Verdict(row.decision, STATUS_OF[row.decision], reasons, grounds[0].advice)


def _reason(row: Row, grounds: tuple[Ground, ...]) -> Reason:
    return Reason(row.code, " ".join(ground.message for ground in grounds))


def _circuit(tally: Tally, policy: Policy) -> Circuit:
    threshold, budget = policy.failure_threshold, policy.budget_units
    threshold = DEFAULT_FAILURE_THRESHOLD if threshold is UNSET else threshold
    budget = DEFAULT_BUDGET_UNITS if budget is UNSET else shown(budget)
    # As shown, a sum beyond every double is cut, but it still reaches each possible budget.
    streak, spent = tally.failure_streak, tally.spent_units
    is_open = bool(tally.kinds) and (streak >= threshold or spent >= budget)
    return Circuit(streak, threshold, spent, budget, is_open)


def _given_record(record: PriorRecord | UnsetType | None, fingerprint: str | None) -> _GivenRecord:
    if record is None or record is UNSET:
        return _NO_RECORD
    return record.status, record.write_committed, _compare(record.request_hash, fingerprint)


def _compare(recorded: str | UnsetType, fingerprint: str | None) -> Comparison:
    if recorded is UNSET:
        return "neither" if fingerprint is None else "no-record-hash"
    if fingerprint is None:
        return "no-fingerprint"
    return "equal" if recorded == fingerprint else "different"


@lru_cache(maxsize=_REMEMBERED_VERDICTS)
def _look_up(
    kinds: frozenset[Kind], streak_reached: bool, budget_reached: bool, record: _GivenRecord
) -> Verdict:
    status, committed, comparison = record
    facts = Facts(
        "uncertain" if status is UNSET else status or "none",
        "unknown" if committed is UNSET else committed,
        comparison,
        kinds,
        streak_reached,
        budget_reached,
    )
    return judge(facts)

"""From a request to a report: the facts are measured, then the table judges them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from .attempts import kinds_of, sum_up
from .facts import Comparison, Facts
from .numerals import Number, at_least, shown
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
    attempts = request.attempts or ()
    tally, fingerprint = sum_up(attempts), request.operation.fingerprint()
    streak, spent = tally.failure_streak, tally.spent_units
    threshold, budget = _limits(request.policy)
    streak_reached, budget_reached = streak >= threshold, at_least(spent, budget)
    is_open = bool(attempts) and (streak_reached or budget_reached)
    record = _given_record(request.prior_record, fingerprint)
    verdict = _look_up(tally.kind_bits, streak_reached, budget_reached, record)
    return Report(
        decision=verdict.decision,
        status=verdict.status,
        reasons=verdict.reasons,
        fingerprint=fingerprint,
        circuit=Circuit(streak, threshold, spent, budget, is_open),
        advice=verdict.advice,
    )


def facts_of(request: Request) -> Facts:
    """What the table looks at. Raises as `evaluate`."""
    report = evaluate(request)
    circuit = report.circuit
    return _facts(
        sum_up(request.attempts or ()).kind_bits,
        circuit.failure_streak >= circuit.failure_threshold,
        at_least(circuit.spent_units, circuit.budget_units),
        _given_record(request.prior_record, report.fingerprint),
    )


def judge(facts: Facts, table: Sequence[Row] = TABLE) -> Verdict:
    """The table's answer to the facts."""
    found = [(row, grounds) for row in table if (grounds := row.applying(facts))]
    found = found or [(OTHERWISE, OTHERWISE.applying(facts))]
    row, grounds = found[0]
    reasons = tuple(_reason(row, grounds) for row, grounds in found)
    return Verdict(row.decision, STATUS_OF[row.decision], reasons, grounds[0].advice)


def _reason(row: Row, grounds: tuple[Ground, ...]) -> Reason:
    return Reason(row.code, " ".join(ground.message for ground in grounds))


def _limits(policy: Policy | UnsetType) -> tuple[int, Number]:
    if policy is UNSET:
        return DEFAULT_FAILURE_THRESHOLD, DEFAULT_BUDGET_UNITS
    threshold, budget = policy.failure_threshold, policy.budget_units
    return (
        DEFAULT_FAILURE_THRESHOLD if threshold is UNSET else threshold,
        DEFAULT_BUDGET_UNITS if budget is UNSET else shown(budget),
    )


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
    kind_bits: int, streak_reached: bool, budget_reached: bool, record: _GivenRecord
) -> Verdict:
    return judge(_facts(kind_bits, streak_reached, budget_reached, record))


def _facts(
    kind_bits: int, streak_reached: bool, budget_reached: bool, record: _GivenRecord
) -> Facts:
    status, committed, comparison = record
    return Facts(
        "uncertain" if status is UNSET else status or "none",
        "unknown" if committed is UNSET else committed,
        comparison,
        kinds_of(kind_bits),
        streak_reached,
        budget_reached,
    )

"""From a request to a report: the facts are measured, then the table judges them."""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter

from msgspec import UNSET, Struct, UnsetType

from .facts import KINDS, Comparison, Facts, Kind
from .numerals import Number, exact_sum, shown
from .report import STATUS_OF, Circuit, Decision, Reason, Report, Status
from .request import (
    CONTRACT_VERSION,
    MAX_ATTEMPTS,
    Attempt,
    Outcome,
    Phase,
    Policy,
    PriorRecord,
    Request,
)
from .table import OTHERWISE, TABLE, Ground, Row

_REMEMBERED_VERDICTS = 2048
"""There are more combinations of facts than that, but few of them occur."""
_MEMBERS = attrgetter("outcome", "phase", "cost_units")


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
        ValueError: it is of another version, or has too many attempts, or one with a value
            that is not of its type.
        ArithmeticError: a number in it is not a number.
    """
    if request.contract_version != CONTRACT_VERSION or len(request.attempts) > MAX_ATTEMPTS:
        raise ValueError(f"only version 1 with at most {MAX_ATTEMPTS:,} attempts can be judged")
    outcomes, phases, costs = _columns(request.attempts)
    kinds = frozenset(zip(outcomes, phases, strict=True))
    circuit = _measure(outcomes, costs, request.policy)
    fingerprint = request.operation.request_hash
    verdict = judge(_facts(kinds, circuit, request.prior_record, fingerprint))
    return Report(
        decision=verdict.decision,
        status=verdict.status,
        reasons=verdict.reasons,
        fingerprint=None if fingerprint is UNSET else fingerprint,
        circuit=circuit,
        advice=verdict.advice,
    )


@lru_cache(maxsize=_REMEMBERED_VERDICTS)
def judge(facts: Facts) -> Verdict:
    """The table's answer to the facts.

    Raises:
        ValueError: an attempt is of a kind that the contract does not know.
    """
    if unheard_of := facts.kinds - KINDS:
        raise ValueError(f"no attempt has the outcome and phase {sorted(unheard_of)[0]}")
    found = [(row, grounds) for row in TABLE if (grounds := row.applying(facts))]
    found = found or [(OTHERWISE, OTHERWISE.applying(facts))]
    row, grounds = found[0]
    reasons = tuple(_reason(row, grounds) for row, grounds in found)
    return Verdict(row.decision, STATUS_OF[row.decision], reasons, grounds[0].advice)


def _reason(row: Row, grounds: tuple[Ground, ...]) -> Reason:
    return Reason(row.code, " ".join(ground.message for ground in grounds))


def _columns(
    attempts: Sequence[Attempt],
) -> tuple[Sequence[Outcome], Sequence[Phase], Sequence[Number]]:
    return tuple(zip(*map(_MEMBERS, attempts), strict=True)) or ((), (), ())


def _measure(outcomes: Sequence[Outcome], costs: Sequence[Number], policy: Policy) -> Circuit:
    if costs and min(costs) < 0:
        raise ValueError("no attempt costs less than nothing")
    streak, threshold = _failure_streak(outcomes), policy.failure_threshold
    # As shown, a sum beyond every double is cut, but it still reaches each possible budget.
    spent, budget = shown(exact_sum(costs)), shown(policy.budget_units)
    is_open = bool(costs) and (streak >= threshold or spent >= budget)
    return Circuit(streak, threshold, spent, budget, is_open)


def _failure_streak(outcomes: Sequence[Outcome]) -> int:
    """How many attempts there are after the last success."""
    return outcomes[::-1].index("success") if "success" in outcomes else len(outcomes)


def _facts(
    kinds: frozenset[Kind],
    circuit: Circuit,
    record: PriorRecord | None,
    fingerprint: str | UnsetType,
) -> Facts:
    streak_reached = circuit.failure_streak >= circuit.failure_threshold
    budget_reached = circuit.spent_units >= circuit.budget_units
    if record is None:
        return Facts("none", "unknown", "neither", kinds, streak_reached, budget_reached)
    return Facts(
        "uncertain" if record.status is UNSET else record.status,
        record.write_committed,
        _compare(record.request_hash, fingerprint),
        kinds,
        streak_reached,
        budget_reached,
    )


def _compare(recorded: str | UnsetType, fingerprint: str | UnsetType) -> Comparison:
    if recorded is UNSET:
        return "neither" if fingerprint is UNSET else "no-record-hash"
    if fingerprint is UNSET:
        return "no-fingerprint"
    return "equal" if recorded == fingerprint else "different"

"""The named faults: each the one decision with one thing wrong in it, and a sentence for people."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from .attempts import Kind
from .decision import facts_of, judge
from .facts import Facts
from .report import STATUS_OF, Decision, Status
from .request import Request
from .table import TABLE, Row

_BEFORE_THE_WRITE: Kind = ("failure", "pre_write")


class FaultDescription(Struct, frozen=True):
    """A named fault, for people: what is wrong, and what that does to them."""

    name: str
    summary: str
    explanation: str


class _Variation(Struct, frozen=True):
    """What the faulty decision sees in place of the facts, and the table that it follows."""

    see: Callable[[Facts], Facts]
    table: Sequence[Row] = TABLE


def decide_with(fault: str, request: Request) -> tuple[Decision, Status]:
    """What an implementation with the named fault decides.

    Raises:
        KeyError: there is no fault of that name.
        ValueError: as `evaluate`.
    """
    variation = _VARIATIONS[fault]
    decision = judge(variation.see(facts_of(request)), variation.table).decision
    return decision, STATUS_OF[decision]


def _take_doubt_for_safe(facts: Facts) -> Facts:
    kinds = {kind if kind[0] == "success" else _BEFORE_THE_WRITE for kind in facts.kinds}
    return replace(facts, kinds=frozenset(kinds))


def _never_compare(facts: Facts) -> Facts:
    return replace(facts, comparison="equal")


def _never_check_the_budget(facts: Facts) -> Facts:
    return replace(facts, budget_reached=False)


def _take_completed_for_committed(facts: Facts) -> Facts:
    return replace(facts, committed=True) if facts.record == "completed" else facts


_BRAKES_FIRST = tuple(sorted(TABLE, key=lambda row: row.decision != "brake"))

_VARIATIONS: Mapping[str, _Variation] = {
    "blind-retry": _Variation(_take_doubt_for_safe),
    "body-blind": _Variation(_never_compare),
    "budget-blind": _Variation(_never_check_the_budget),
    "brake-first": _Variation(lambda facts: facts, _BRAKES_FIRST),
    "completed-is-committed": _Variation(_take_completed_for_committed),
}

FAULTS: Mapping[str, FaultDescription] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            FaultDescription(
                "blind-retry",
                "a timeout or an uncertain attempt is taken for safe to repeat",
                "An attempt whose effect is not known is treated as if it had had none, so the "
                "operation is sent again: if the first attempt did write, the customer pays twice.",
            ),
            FaultDescription(
                "body-blind",
                "fingerprints are never compared",
                "The record under the key is taken for this request's own, whatever request left "
                "it: a changed request gets the stored answer of another one, and is never done.",
            ),
            FaultDescription(
                "budget-blind",
                "the budget is never checked",
                "Retries go on although they have cost what they may: a failing service is called "
                "until the streak alone stops it, and expensive calls are paid for in vain.",
            ),
            FaultDescription(
                "brake-first",
                "the brake is looked at before the conflict and before the record",
                "Whatever brakes is reported first and hides the rest: a caller that used one key "
                "for two requests is told to wait and to try again, which can never help.",
            ),
            FaultDescription(
                "completed-is-committed",
                "a completed record is taken as committed, whatever it says of the write",
                "A request that ended without its write, or with nobody knowing, is answered as "
                "done: the caller is told of a success that may never have happened.",
            ),
        )
    }
)
"""By name, in the order in which they are told."""

"""The attempts that were made before, and what a decision takes from them.

Source: the rows `attempts[]` of the table "Input", retryfuse contract, version 1.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from msgspec import UNSET, Struct, UnsetType

from .numerals import LARGEST_NUMBER, exact_sum, shown

MAX_ATTEMPTS = 10_000
DEFAULT_COST_UNITS = 1

_SURE_UNITS = 2**30
_UNITS_TYPES = frozenset({int, float, Decimal})

Outcome: TypeAlias = Literal["success", "failure", "timeout", "unknown"]
Phase: TypeAlias = Literal["pre_write", "post_write", "unknown"]
Kind: TypeAlias = tuple[Outcome, Phase]
"""All of a single attempt that the decision table looks at."""

_GivenKind: TypeAlias = tuple[Outcome | UnsetType, Phase | UnsetType]

KINDS: frozenset[Kind] = frozenset(product(get_args(Outcome), get_args(Phase)))

if TYPE_CHECKING:
    Units: TypeAlias = int | float | Decimal
    """A cost. A float means the decimal number that it prints as: 0.1 is a tenth."""
else:
    # msgspec would lose digits to a double, or take a string for a Decimal.
    Units = Any


class Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A part of the input: immutable, its members in camelCase and no other."""


class Attempt(Part, frozen=True):
    """An attempt that was made before.

    Attributes:
        outcome: how it ended for the caller. Left out: unknown.
        phase: where it was then: certainly before the write, certainly after its start, or
            not known. Left out: unknown.
        cost_units: what it took from the budget; finite, at least 0. Left out: 1.
    """

    outcome: Outcome | UnsetType = UNSET
    phase: Phase | UnsetType = UNSET
    cost_units: Units | UnsetType = UNSET


class Tally(Struct, frozen=True, gc=False):
    """The attempts, summed up.

    Attributes:
        kinds: each kind that there is at least one of.
        failure_streak: how many there are after the last success.
        spent_units: what they cost together, exactly, in the form in which to show it.
    """

    kinds: frozenset[Kind]
    failure_streak: int
    spent_units: int | Decimal


def sum_up(attempts: Sequence[Attempt]) -> Tally:
    """Sums the attempts up.

    Raises:
        ValueError: there are too many, or one has a member that its type does not allow.
    """
    if not attempts:
        return _NO_ATTEMPTS
    if len(attempts) > MAX_ATTEMPTS:
        raise ValueError(f"there may be at most {MAX_ATTEMPTS:,} attempts")
    kinds: set[_GivenKind] = set()
    streak = whole_units = 0
    other_units: list[Units] = []
    for attempt in attempts:
        outcome, cost = attempt.outcome, attempt.cost_units
        kinds.add((outcome, attempt.phase))
        streak = 0 if outcome == "success" else streak + 1
        if type(cost) is int and 0 <= cost < _SURE_UNITS:
            whole_units += cost
        elif cost is UNSET:
            whole_units += DEFAULT_COST_UNITS
        else:
            other_units.append(_checked_units(cost))
    spent = shown(exact_sum((whole_units, *other_units))) if other_units else whole_units
    return Tally(_filled_in(kinds), streak, spent)


_NO_ATTEMPTS = Tally(frozenset(), 0, 0)


def is_units(number: Any) -> bool:
    """Whether this is a finite number from 0 to count cost with."""
    return type(number) in _UNITS_TYPES and bool(0 <= number <= LARGEST_NUMBER)


def _checked_units(cost: Units) -> Units:
    if not is_units(cost):
        raise ValueError("cost_units must be a finite number from 0")
    return cost


def _filled_in(given: set[_GivenKind]) -> frozenset[Kind]:
    kinds = frozenset(given)
    if not kinds <= KINDS:
        kinds = frozenset([(outcome or "unknown", phase or "unknown") for outcome, phase in given])
    if not kinds <= KINDS:
        raise ValueError(f"no attempt is like {set(kinds - KINDS).pop()}")
    return cast("frozenset[Kind]", kinds)

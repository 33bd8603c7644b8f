"""The attempts that were made before, and what a decision takes from them.

Source: the rows `attempts[]` of the table "Input", retryfuse contract, version 1.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import UNSET, Struct, UnsetType

from .numerals import Number, exact_sum, is_amount

MAX_ATTEMPTS = 10_000
DEFAULT_COST_UNITS = 1

_SURE_UNITS = 2**30

Outcome: TypeAlias = Literal["success", "failure", "timeout", "unknown"]
Phase: TypeAlias = Literal["pre_write", "post_write", "unknown"]
Kind: TypeAlias = tuple[Outcome, Phase]
"""All of a single attempt that the decision table looks at."""

KINDS: tuple[Kind, ...] = tuple(product(get_args(Outcome), get_args(Phase)))

# A bit for each kind: a set of kinds that is quick to build and to look up.
_BIT_OF = {
    given: 1 << KINDS.index((given[0] or "unknown", given[1] or "unknown"))
    for given in product((*get_args(Outcome), UNSET), (*get_args(Phase), UNSET))
}

if TYPE_CHECKING:
    Units: TypeAlias = Number
    """A cost. A float means the decimal number that it prints as: 0.1 is a tenth."""
else:
    # msgspec would lose digits to a double, or take a string for a Decimal.
    Units = Any


class Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """A part of the input: immutable, its members in camelCase and no other."""

    def check(self) -> None:
        """Looks at what the constructor has not looked at.

        Raises:
            ValueError: a member is not as its description says.
        """


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

    def check(self) -> None:  # noqa: D102
        if self.cost_units is not UNSET and not is_amount(self.cost_units):
            raise ValueError("cost_units must be a finite number from 0")


class Tally(Struct, frozen=True, gc=False):
    """The attempts, summed up.

    Attributes:
        kind_bits: for each kind that there is at least one of, its bit; see `kinds_of`.
        failure_streak: how many there are after the last success.
        spent_units: what they cost together, exactly, in the form in which to show it.
    """

    kind_bits: int
    failure_streak: int
    spent_units: Number


def sum_up(attempts: Sequence[Attempt]) -> Tally:
    """Sums the attempts up.

    Raises:
        ValueError: there are too many, or one has a member that its type does not allow.
    """
    if not attempts:
        return _NO_ATTEMPTS
    if len(attempts) > MAX_ATTEMPTS:
        raise ValueError(f"there may be at most {MAX_ATTEMPTS:,} attempts")
    kind_bits = streak = whole_units = 0
    other_units: list[Units] = []
    for attempt in attempts:
        outcome, cost = attempt.outcome, attempt.cost_units
        try:
            kind_bits |= _BIT_OF[outcome, attempt.phase]
        except KeyError as error:
            raise ValueError(f"no attempt has the outcome and phase {error}") from None
        streak = 0 if outcome == "success" else streak + 1
        if cost is UNSET:
            whole_units += DEFAULT_COST_UNITS
        elif type(cost) is int and 0 <= cost < _SURE_UNITS:
            whole_units += cost
        else:
            other_units.append(cost)
    spent = exact_sum(whole_units, other_units) if other_units else whole_units
    return Tally(kind_bits, streak, spent)


def kinds_of(kind_bits: int) -> frozenset[Kind]:
    """The kinds that a tally counts."""
    return frozenset(kind for kind in KINDS if kind_bits & _BIT_OF[kind])


_NO_ATTEMPTS = Tally(0, 0, 0)

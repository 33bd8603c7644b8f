"""What the decision table looks at: few facts, so that few combinations of them occur."""

from typing import Literal, TypeAlias

from msgspec import Struct

from .attempts import Kind

Comparison: TypeAlias = Literal["equal", "different", "no-record-hash", "no-fingerprint", "neither"]
"""The record's hash against the operation's fingerprint, or what of them is missing."""


class Facts(Struct, frozen=True):
    """What the rows look at, and nothing else.

    Attributes:
        record: the record's status; "none" without a record, "uncertain" without a status.
        committed: the record's `writeCommitted`.
        comparison: the two fingerprints.
        kinds: the kinds of the attempts.
        streak_reached: whether the failure threshold is.
        budget_reached: whether the budget is spent.
    """

    record: Literal["none", "in_flight", "completed", "uncertain"]
    committed: bool | Literal["unknown"]
    comparison: Comparison
    kinds: frozenset[Kind]
    streak_reached: bool
    budget_reached: bool

    @property
    def recorded(self) -> bool:
        """Whether there is a record at all."""
        return self.record != "none"

    @property
    def confirmed(self) -> bool:
        """Whether the record proves that this very request had its effect."""
        return self.record == "completed" and self.committed is True and self.comparison == "equal"

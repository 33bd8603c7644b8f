"""In what two observations of one operation differ, and how much that matters."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from retryproof_protocol.messages import Observation

Difference: TypeAlias = Literal["status", "receipt", "committedWrites"]
DifferenceClass: TypeAlias = Literal["effect", "status-only"]


def differences(expected: Observation, actual: Observation) -> tuple[Difference, ...]:
    """The members that differ, in the order of the wire."""
    found: list[Difference] = []
    if expected.status != actual.status:
        found.append("status")
    if expected.receipt != actual.receipt:
        found.append("receipt")
    if expected.committed_writes != actual.committed_writes:
        found.append("committedWrites")
    return tuple(found)


def classify(found: Sequence[Difference]) -> DifferenceClass | None:
    """`effect` if a write or its receipt differs, `status-only` if nothing but the code does."""
    if not found:
        return None
    return "status-only" if tuple(found) == ("status",) else "effect"

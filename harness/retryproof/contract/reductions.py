"""Making counterexamples shorter, under the mission's one rule: operations are only removed.

Ticks, keys, values and deliveries stay as they are. An artifact without a valid one-step
reduction is deletion-minimal under this rule; it is never claimed to be the shortest.
"""

from collections.abc import Iterator

from msgspec import Struct

from .artifacts import Artifact
from .model import REFERENCE, faulty


class Reduction(Struct, frozen=True):
    """An artifact that is left when the operation at index `removed` is taken out."""

    removed: int
    artifact: Artifact


def is_accepted(artifact: Artifact) -> bool:
    """Whether the reference and the named fault differ in at least one operation."""
    return REFERENCE.trace(artifact.steps) != faulty(artifact.target).trace(artifact.steps)


def one_step_reductions(artifact: Artifact) -> tuple[Reduction, ...]:
    """Each accepted artifact with one operation less, by the index of the removed one."""
    return tuple(
        Reduction(index, shorter)
        for index, shorter in enumerate(_deletions(artifact))
        if shorter.steps and is_accepted(shorter)
    )


def deletion_minimal_reductions(artifact: Artifact) -> tuple[Artifact, ...]:
    """Every deletion-minimal artifact that one-step reductions lead to.

    The artifact itself, if it has none. In the order in which a search by length meets them.
    """
    minimal: list[Artifact] = []
    level = {artifact: None}
    while level:
        shorter_level: dict[Artifact, None] = {}
        for candidate in level:
            reductions = one_step_reductions(candidate)
            shorter_level.update((reduction.artifact, None) for reduction in reductions)
            if not reductions:
                minimal.append(candidate)
        level = shorter_level
    return tuple(minimal)


class Comparison(Struct, frozen=True):
    """Whether a candidate is a strict ordered reduction of a parent, and why or why not."""

    strict_ordered_reduction: bool
    reason: str


def strict_ordered_reduction(parent: Artifact, candidate: Artifact) -> Comparison:
    """Whether the candidate has the parent's target and a strict subsequence of its operations."""
    if candidate.target != parent.target:
        return Comparison(False, f"The targets differ: {parent.target} and {candidate.target}.")
    if candidate.steps == parent.steps:
        return Comparison(False, "The candidate has the parent's operations, none removed.")
    unmatched = _first_unmatched(parent, candidate)
    if unmatched is not None:
        return Comparison(
            False,
            f"steps[{unmatched}] of the candidate is not among the parent's operations that "
            "are left at that point: each must equal one of them in every field, in order.",
        )
    removed = len(parent.steps) - len(candidate.steps)
    noun = "operation" if removed == 1 else "operations"
    return Comparison(True, f"The candidate is the parent without {removed} {noun}.")


def _deletions(artifact: Artifact) -> Iterator[Artifact]:
    for index in range(len(artifact.steps)):
        steps = artifact.steps[:index] + artifact.steps[index + 1 :]
        yield Artifact(artifact.target, steps)


def _first_unmatched(parent: Artifact, candidate: Artifact) -> int | None:
    left = iter(parent.steps)
    for index, operation in enumerate(candidate.steps):
        if not any(operation == other for other in left):
            return index
    return None

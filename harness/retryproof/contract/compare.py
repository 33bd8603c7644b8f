"""The answer of `retryproof compare`: is one artifact a strict ordered reduction of another?"""

from typing import Literal

from msgspec import Struct

from .artifacts import Artifact, Problem, Submission
from .reductions import Comparison, strict_ordered_reduction


class RefusedInputs(Struct, frozen=True):
    """What is wrong with each of the two files; both empty if both are valid."""

    parent: tuple[Problem, ...]
    candidate: tuple[Problem, ...]


class CompareReport(Struct, frozen=True, rename="camel"):
    """Schema retryproof.compare/1."""

    schema: Literal["retryproof.compare/1"]
    evidence: Literal["reference-comparison"]
    not_covered: tuple[str, ...]
    strict_ordered_reduction: bool
    reason: str
    errors: RefusedInputs


def compare(
    parent: Submission, candidate: Submission, not_covered: tuple[str, ...]
) -> CompareReport:
    """Compares two artifacts; one that was refused is no reduction and has none."""
    comparison = _compare_artifacts(parent.artifact, candidate.artifact)
    return CompareReport(
        schema="retryproof.compare/1",
        evidence="reference-comparison",
        not_covered=not_covered,
        strict_ordered_reduction=comparison.strict_ordered_reduction,
        reason=comparison.reason,
        errors=RefusedInputs(parent.problems, candidate.problems),
    )


def _compare_artifacts(parent: Artifact | None, candidate: Artifact | None) -> Comparison:
    if parent is None:
        return Comparison(False, "The parent is not a valid artifact.")
    if candidate is None:
        return Comparison(False, "The candidate is not a valid artifact.")
    return strict_ordered_reduction(parent, candidate)

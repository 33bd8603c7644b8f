"""The answer of `retryproof reduce`: an artifact's reductions, by the two bundled models."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from .artifacts import Artifact, Problem, Submission
from .reductions import Reduction, deletion_minimal_reductions, is_accepted, one_step_reductions


class ReduceReport(Struct, frozen=True, rename="camel"):
    """Schema retryproof.reduce/1. `minimal` is there only if it was asked for."""

    schema: Literal["retryproof.reduce/1"]
    evidence: Literal["reference-comparison"]
    not_covered: tuple[str, ...]
    valid: bool
    accepted: bool
    errors: tuple[Problem, ...]
    artifact: Artifact | None
    reductions: tuple[Reduction, ...]
    deletion_minimal: bool | None
    minimal: tuple[Artifact, ...] | UnsetType = UNSET


def reduce(submission: Submission, not_covered: tuple[str, ...], follow_all: bool) -> ReduceReport:
    """The one-step reductions, and with `follow_all` every deletion-minimal artifact as well."""
    artifact = submission.artifact
    accepted = artifact is not None and is_accepted(artifact)
    reductions: tuple[Reduction, ...] = ()
    minimal: tuple[Artifact, ...] | UnsetType = () if follow_all else UNSET
    if artifact is not None and accepted:
        reductions = one_step_reductions(artifact)
        if follow_all:
            minimal = deletion_minimal_reductions(artifact)
    return ReduceReport(
        schema="retryproof.reduce/1",
        evidence="reference-comparison",
        not_covered=not_covered,
        valid=artifact is not None,
        accepted=accepted,
        errors=submission.problems,
        artifact=artifact,
        reductions=reductions,
        deletion_minimal=not reductions if accepted else None,
        minimal=minimal,
    )

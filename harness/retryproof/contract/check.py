"""What the two bundled models say about an artifact. No adapter runs here."""

from typing import Literal

from msgspec import Struct
from retryproof_protocol.messages import Observation, Operation

from .artifacts import Artifact, Problem, Submission
from .differences import Difference, differences
from .model import REFERENCE, faulty
from .reductions import one_step_reductions


class ComparedStep(Struct, frozen=True):
    """One operation under the reference and under the named fault."""

    operation: Operation
    reference: Observation
    fault: Observation
    differences: tuple[Difference, ...]


class CheckReport(Struct, frozen=True, rename="camel"):
    """The whole answer of `retryproof check`, schema retryproof.check/1."""

    schema: Literal["retryproof.check/1"]
    evidence: Literal["reference-comparison"]
    not_covered: tuple[str, ...]
    valid: bool
    accepted: bool
    errors: tuple[Problem, ...]
    artifact: Artifact | None
    parent: str | None
    normalized_bytes: int | None
    digest: str | None
    first_difference: int | None
    steps: tuple[ComparedStep, ...]
    reductions: tuple[int, ...]
    deletion_minimal: bool | None


def check(submission: Submission, not_covered: tuple[str, ...]) -> CheckReport:
    """Compares the two models over the artifact, or says why it was refused."""
    artifact = submission.artifact
    steps = () if artifact is None else compare_models(artifact)
    differing = [index for index, step in enumerate(steps) if step.differences]
    accepted = bool(differing)
    reductions = one_step_reductions(artifact) if artifact is not None and accepted else ()
    return CheckReport(
        schema="retryproof.check/1",
        evidence="reference-comparison",
        not_covered=not_covered,
        valid=artifact is not None,
        accepted=accepted,
        errors=submission.problems,
        artifact=artifact,
        parent=submission.parent,
        normalized_bytes=None if artifact is None else len(artifact.normalized()),
        digest=None if artifact is None else artifact.digest(),
        first_difference=differing[0] if accepted else None,
        steps=steps,
        reductions=tuple(reduction.removed for reduction in reductions),
        deletion_minimal=not reductions if accepted else None,
    )


def compare_models(artifact: Artifact) -> tuple[ComparedStep, ...]:
    """The reference and the artifact's fault, operation by operation."""
    reference = REFERENCE.trace(artifact.steps)
    fault = faulty(artifact.target).trace(artifact.steps)
    return tuple(
        ComparedStep(operation, right, wrong, differences(right, wrong))
        for operation, right, wrong in zip(artifact.steps, reference, fault, strict=True)
    )

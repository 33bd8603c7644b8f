"""Reductions: only ever shorter, always still accepted, and found completely."""

import itertools

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from retryproof import app, resources
from retryproof.contract.artifacts import Artifact, Submission, read_submission
from retryproof.contract.compare import compare
from retryproof.contract.reduce import reduce
from retryproof.contract.reductions import (
    Reduction,
    deletion_minimal_reductions,
    is_accepted,
    one_step_reductions,
    strict_ordered_reduction,
)
from retryproof_protocol.messages import Operation

from tests.bundle import BUNDLE
from tests.contract import second_model
from tests.strategies import artifacts, fault_names, histories, repeatable

accepted_artifacts = artifacts().filter(is_accepted)
short_artifacts = artifacts(max_size=7).filter(is_accepted)


def seed() -> Artifact:
    artifact = read_submission(resources.read_bytes(app.SEED_FILE), BUNDLE.mission).artifact
    assert artifact is not None
    return artifact


def is_still_accepted(target: str, steps: tuple[Operation, ...]) -> bool:
    return second_model.trace(steps) != second_model.trace(steps, target)


@repeatable(100)
@given(accepted_artifacts)
def test_each_reduction_is_accepted_and_one_operation_shorter(artifact: Artifact) -> None:
    for reduction in one_step_reductions(artifact):
        steps = list(artifact.steps)
        del steps[reduction.removed]
        assert reduction.artifact == Artifact(artifact.target, tuple(steps))
        assert steps
        assert is_still_accepted(artifact.target, tuple(steps))
        submission = read_submission(reduction.artifact.normalized(), BUNDLE.mission)
        assert submission.artifact == reduction.artifact
        assert strict_ordered_reduction(artifact, reduction.artifact).strict_ordered_reduction


@repeatable(100)
@given(accepted_artifacts)
def test_no_reduction_is_missing_and_they_come_by_index(artifact: Artifact) -> None:
    expected = [
        index
        for index in range(len(artifact.steps))
        if is_still_accepted(artifact.target, artifact.steps[:index] + artifact.steps[index + 1 :])
    ]

    assert [reduction.removed for reduction in one_step_reductions(artifact)] == expected


@repeatable(100)
@given(short_artifacts)
def test_following_every_reduction_finds_each_deletion_minimal_artifact(
    artifact: Artifact,
) -> None:
    reached = {artifact.steps}
    waiting = [artifact.steps]
    while waiting:
        steps = waiting.pop()
        for shorter in itertools.combinations(steps, len(steps) - 1):
            if shorter not in reached and is_still_accepted(artifact.target, shorter):
                reached.add(shorter)
                waiting.append(shorter)
    minimal = {
        steps
        for steps in reached
        if not any(
            is_still_accepted(artifact.target, shorter)
            for shorter in itertools.combinations(steps, len(steps) - 1)
        )
    }

    found = deletion_minimal_reductions(artifact)

    assert {reduced.steps for reduced in found} == minimal
    assert len(found) == len(minimal)
    assert {reduced.target for reduced in found} == {artifact.target}


@repeatable(100)
@given(short_artifacts)
def test_a_deletion_minimal_artifact_has_no_reduction(artifact: Artifact) -> None:
    found = deletion_minimal_reductions(artifact)

    assert found
    assert all(one_step_reductions(minimal) == () for minimal in found)
    assert [len(minimal.steps) for minimal in found] == sorted(
        (len(minimal.steps) for minimal in found), reverse=True
    )
    assert (found == (artifact,)) is (one_step_reductions(artifact) == ())


@repeatable(40)
@given(short_artifacts)
def test_the_answer_is_the_same_each_time(artifact: Artifact) -> None:
    copy = msgspec.json.decode(artifact.normalized(), type=Artifact)

    assert one_step_reductions(copy) == one_step_reductions(artifact)
    assert deletion_minimal_reductions(copy) == deletion_minimal_reductions(artifact)


def test_the_authored_fixture_reduces_to_two_operations() -> None:
    artifact = seed()
    minimal = Artifact(
        "forget-on-loss",
        (Operation(1, "A", "A", "lost"), Operation(3, "A", "A", "received")),
    )

    assert [reduction.removed for reduction in one_step_reductions(artifact)] == [0, 2, 4]
    assert deletion_minimal_reductions(artifact) == (minimal,)
    assert strict_ordered_reduction(artifact, minimal).strict_ordered_reduction


def test_removing_an_operation_leaves_the_ticks_alone() -> None:
    steps = (
        Operation(3, "B", "B", "received"),
        Operation(7, "A", "A", "received"),
        Operation(9, "A", "B", "received"),
    )

    [reduction] = one_step_reductions(Artifact("body-blind", steps))

    assert reduction == Reduction(0, Artifact("body-blind", steps[1:]))


def is_strict_subsequence(parent: tuple[Operation, ...], candidate: tuple[Operation, ...]) -> bool:
    """By brute force: some choice of fewer operations, in order, is the candidate."""
    return len(candidate) < len(parent) and candidate in set(
        itertools.combinations(parent, len(candidate))
    )


@st.composite
def related(draw: st.DrawFn) -> tuple[Artifact, Artifact]:
    """A parent, and a candidate that is nearly or really a part of it."""
    parent = draw(artifacts(max_size=7))
    kept = draw(st.lists(st.booleans(), min_size=len(parent.steps), max_size=len(parent.steps)))
    steps = tuple(step for step, keep in zip(parent.steps, kept, strict=True) if keep)
    shuffled, replaced = draw(st.booleans()), draw(st.booleans())
    if shuffled:
        steps = tuple(draw(st.permutations(steps)))
    if steps and replaced:
        at = draw(st.integers(0, len(steps) - 1))
        steps = (*steps[:at], *draw(histories(max_size=1)), *steps[at + draw(st.integers(0, 1)) :])
    target = draw(st.just(parent.target) | fault_names)
    assume(steps)
    return parent, Artifact(target, steps)


@repeatable(250)
@given(related())
def test_a_strict_ordered_reduction_is_what_brute_force_says(
    artifacts_: tuple[Artifact, Artifact],
) -> None:
    parent, candidate = artifacts_

    comparison = strict_ordered_reduction(parent, candidate)

    assert comparison.strict_ordered_reduction is (
        parent.target == candidate.target and is_strict_subsequence(parent.steps, candidate.steps)
    )
    assert comparison.reason.endswith(".")


FIRST = Operation(0, "A", "A", "lost")
SECOND = Operation(1, "A", "A", "received")
THIRD = Operation(2, "B", "A", "received")


@pytest.mark.parametrize(
    ("candidate", "is_reduction", "reason"),
    [
        pytest.param((FIRST, SECOND), True, "without 1 operation.", id="one removed"),
        pytest.param((SECOND,), True, "without 2 operations.", id="two removed"),
        pytest.param((FIRST, SECOND, THIRD), False, "none removed", id="the parent itself"),
        pytest.param((SECOND, FIRST), False, "steps[1] of the candidate", id="another order"),
        pytest.param((FIRST, FIRST), False, "steps[1] of the candidate", id="one used twice"),
        pytest.param(
            (FIRST, msgspec.structs.replace(SECOND, at=2)),
            False,
            "steps[1] of the candidate",
            id="another tick",
        ),
        pytest.param(
            (msgspec.structs.replace(FIRST, delivery="received"),),
            False,
            "steps[0] of the candidate",
            id="another delivery",
        ),
        pytest.param(
            (FIRST, SECOND, THIRD, THIRD), False, "steps[3] of the candidate", id="longer"
        ),
    ],
)
def test_a_comparison_says_why(
    candidate: tuple[Operation, ...], is_reduction: bool, reason: str
) -> None:
    parent = Artifact("forget-on-loss", (FIRST, SECOND, THIRD))

    comparison = strict_ordered_reduction(parent, Artifact("forget-on-loss", candidate))

    assert comparison.strict_ordered_reduction is is_reduction
    assert reason in comparison.reason


def test_another_target_is_no_reduction() -> None:
    parent = Artifact("forget-on-loss", (FIRST, SECOND))

    comparison = strict_ordered_reduction(parent, Artifact("duplicate-write", (FIRST,)))

    assert not comparison.strict_ordered_reduction
    assert comparison.reason == "The targets differ: forget-on-loss and duplicate-write."


def submission(data: bytes) -> Submission:
    return read_submission(data, BUNDLE.mission)


@pytest.mark.parametrize(
    ("parent", "candidate", "reason"),
    [
        pytest.param(
            b"{}", seed().normalized(), "The parent is not a valid artifact.", id="parent"
        ),
        pytest.param(
            seed().normalized(), b"[]", "The candidate is not a valid artifact.", id="candidate"
        ),
        pytest.param(b"", b"", "The parent is not a valid artifact.", id="both"),
    ],
)
def test_what_is_refused_is_no_reduction_and_has_none(
    parent: bytes, candidate: bytes, reason: str
) -> None:
    first, second = submission(parent), submission(candidate)

    report = compare(first, second, BUNDLE.not_covered)

    assert not report.strict_ordered_reduction
    assert report.reason == reason
    assert report.errors.parent == first.problems
    assert report.errors.candidate == second.problems


@pytest.mark.parametrize("follow_all", [False, True])
@pytest.mark.parametrize(
    ("data", "valid", "accepted"),
    [
        pytest.param(seed().normalized(), True, True, id="accepted"),
        pytest.param(Artifact("body-blind", (FIRST,)).normalized(), True, False, id="not accepted"),
        pytest.param(b"{}", False, False, id="refused"),
    ],
)
def test_a_reduce_report_has_the_minimal_artifacts_only_if_asked(
    data: bytes, valid: bool, accepted: bool, follow_all: bool
) -> None:
    report = reduce(submission(data), BUNDLE.not_covered, follow_all)

    assert (report.valid, report.accepted) == (valid, accepted)
    assert (report.deletion_minimal is not None) is accepted
    assert len(report.reductions) == (3 if accepted else 0)
    encoded = msgspec.to_builtins(report)
    assert ("minimal" in encoded) is follow_all
    if follow_all:
        assert len(encoded["minimal"]) == (1 if accepted else 0)

"""`check` answers anything at all: a report or a clear refusal, and never an exception."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.contract.artifacts import Artifact, read_submission
from retryproof.contract.check import CheckReport, check
from retryproof.contract.compare import compare
from retryproof.contract.differences import differences
from retryproof.contract.reduce import reduce
from retryproof.contract.reductions import is_accepted
from retryproof_protocol.messages import Operation

from tests.bundle import BUNDLE
from tests.contract import second_model
from tests.hostile import HOSTILE
from tests.strategies import artifacts, json_values, repeatable


def checked(data: bytes) -> CheckReport:
    """The report on the bytes, after all that must hold of any report."""
    submission = read_submission(data, BUNDLE.mission)
    report = check(submission, BUNDLE.not_covered)
    assert_consistent(report)
    assert reduce(submission, BUNDLE.not_covered, True).accepted is report.accepted
    assert not compare(submission, submission, BUNDLE.not_covered).strict_ordered_reduction
    assert json.loads(msgspec.json.encode(report))["schema"] == "retryproof.check/1"
    return report


def assert_consistent(report: CheckReport) -> None:
    assert report.evidence == "reference-comparison"
    assert report.not_covered == BUNDLE.not_covered
    assert report.valid is (report.artifact is not None) is (not report.errors)
    assert all(problem.message.endswith(".") for problem in report.errors)
    if report.artifact is None:
        assert not report.accepted
        assert (report.steps, report.reductions, report.digest) == ((), (), None)
        return
    assert report.normalized_bytes == len(report.artifact.normalized())
    assert report.digest == report.artifact.digest()
    assert [step.operation for step in report.steps] == list(report.artifact.steps)
    differing = [i for i, step in enumerate(report.steps) if step.differences]
    assert report.accepted is bool(differing)
    assert report.first_difference == (differing[0] if differing else None)
    assert report.deletion_minimal == (not report.reductions if report.accepted else None)


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_get_a_refusal(data: tuple[bytes, str]) -> None:
    report = checked(data[0])

    assert not report.valid
    assert len(report.errors) == 1


@repeatable(200)
@given(st.binary(max_size=80))
def test_random_bytes_get_a_refusal(data: bytes) -> None:
    assert not checked(data).valid


@repeatable(200)
@given(json_values)
def test_any_json_gets_a_refusal(value: Any) -> None:
    assert not checked(json.dumps(value).encode()).valid


scalars: st.SearchStrategy[Any] = st.sampled_from(
    [0, 1, 24, 25, -1, 1.0, 1.5, True, None, "A", "B", "lost", "", [], {}]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid artifact or wrapper with something replaced, removed or added somewhere."""
    document: Any = json.loads(draw(artifacts(max_size=4)).normalized())
    if draw(st.booleans()):
        document = {"artifact": document, "parent": "0" * 64}
    place, key = document, draw(st.sampled_from(sorted(document)))
    while isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(keys))
    change = draw(st.sampled_from(["replace", "remove", "add", "double"]))
    if change == "replace":
        place[key] = draw(scalars | json_values)
    elif change == "remove":
        del place[key]
    elif isinstance(place, dict):
        place[draw(st.sampled_from(["at", "key", "expected", "steps", "artifact"]))] = draw(scalars)
    else:
        place.insert(draw(st.integers(0, len(place))), place[key] if change == "double" else 0)
    return json.dumps(document).encode()


@repeatable(300)
@given(mutated())
def test_a_mutation_of_a_valid_artifact_gets_a_report_or_a_refusal_with_places(
    data: bytes,
) -> None:
    report = checked(data)

    document = json.loads(data)
    for problem in report.errors:
        assert problem.path or not isinstance(document, dict) or "artifact" in document


@repeatable(150)
@given(artifacts(max_size=6))
def test_a_report_is_what_two_models_say_about_each_operation(artifact: Artifact) -> None:
    report = checked(artifact.normalized())

    assert report.artifact == artifact
    reference = second_model.trace(artifact.steps)
    fault = second_model.trace(artifact.steps, artifact.target)
    assert tuple(step.reference for step in report.steps) == reference
    assert tuple(step.fault for step in report.steps) == fault
    assert report.accepted is (reference != fault) is is_accepted(artifact)
    for step in report.steps:
        assert step.differences == differences(step.reference, step.fault)


@pytest.mark.parametrize(
    ("target", "steps", "first", "members"),
    [
        pytest.param(
            "duplicate-write", "0AAr 1AAr", 1, ("status", "receipt", "committedWrites"), id="again"
        ),
        pytest.param("duplicate-write", "0AAr 1AAl", 1, ("committedWrites",), id="only writes"),
        pytest.param("body-blind", "0AAr 1ABr", 1, ("status", "receipt"), id="no write differs"),
        pytest.param("body-blind", "0AAr 1ABl", None, (), id="a lost conflict shows nothing"),
        pytest.param("sliding-expiry", "0AAr 1AAr 5AAr", None, (), id="before the first deadline"),
        pytest.param(
            "sliding-expiry",
            "0AAr 1AAr 6AAr",
            2,
            ("status", "receipt", "committedWrites"),
            id="at it",
        ),
        pytest.param("forget-on-loss", "0AAl", None, (), id="a loss without a retry"),
        pytest.param(
            "forget-on-loss", "0AAl 0AAr", 1, ("status", "receipt", "committedWrites"), id="a retry"
        ),
    ],
)
def test_the_first_difference_is_named_with_its_members(
    target: str, steps: str, first: int | None, members: tuple[str, ...]
) -> None:
    report = checked(artifact_of(target, steps).normalized())

    assert report.accepted is (first is not None)
    assert report.first_difference == first
    assert [step.differences for step in report.steps if step.differences] == [members] * (
        first is not None
    )


def artifact_of(target: str, steps: str) -> Artifact:
    letter: Callable[[str], Any] = {"A": "A", "B": "B", "r": "received", "l": "lost"}.__getitem__
    return Artifact(
        target,
        tuple(
            Operation(int(word[:-3]), letter(word[-3]), letter(word[-2]), letter(word[-1]))
            for word in steps.split()
        ),
    )


def test_a_refused_artifact_is_told_apart_from_one_that_is_not_accepted() -> None:
    refused = checked(b"{}")
    agreeing = checked(artifact_of("body-blind", "0AAr").normalized())

    assert (refused.valid, refused.accepted, len(refused.errors)) == (False, False, 2)
    assert (agreeing.valid, agreeing.accepted, agreeing.errors) == (True, False, ())
    assert refused.deletion_minimal is None
    assert agreeing.deletion_minimal is None


def test_the_parent_of_a_wrapper_stands_in_the_report() -> None:
    artifact = artifact_of("body-blind", "0AAr 1ABr")
    wrapper = b'{"artifact":' + artifact.normalized() + b',"parent":"' + b"f" * 64 + b'"}'

    report = checked(wrapper)

    assert report.parent == "f" * 64
    assert report.digest == artifact.digest()

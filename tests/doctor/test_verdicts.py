"""From findings to verdicts: pure, so every situation can be made by hand."""

import pytest
from msgspec.structs import replace
from retryproof.doctor.findings import Answer, Conversation, Findings, Leaving
from retryproof.doctor.report import make_report
from retryproof.doctor.verdicts import judge
from retryproof.events import AdapterDescription
from retryproof.reports.doctor import TITLES, CheckId, CheckReport
from retryproof.reports.doctor_text import render_doctor
from retryproof_protocol.messages import Observation

from tests.doctor.findings import ROUND, TROUBLE, conversation, findings, left
from tests.golden_files import assert_golden, rendered

ADAPTER = AdapterDescription(("./adapter", "--port", "80 81"), None, "/srv", (), None)


def verdicts(found: Findings) -> dict[str, str]:
    return {check.id: check.verdict for check in judge(found) if check.verdict != "pass"}


def check(found: Findings, name: CheckId) -> CheckReport:
    return next(check for check in judge(found) if check.id == name)


def test_an_adapter_that_is_well_passes_every_check() -> None:
    assert verdicts(findings()) == {}
    assert [check.id for check in judge(findings())] == list(TITLES)


def test_nothing_was_seen_of_an_examination_that_had_not_begun() -> None:
    unseen = judge(Findings((), findings().limits))
    assert {check.verdict for check in unseen} == {"not-checked"}
    assert {check.because for check in unseen} == {None}


@pytest.mark.parametrize("name", TITLES)
def test_a_trouble_fails_its_check_and_no_check_that_was_not_made_passes(name: CheckId) -> None:
    broken = Conversation("shutdown", trouble=replace(TROUBLE, check=name))
    expected = dict.fromkeys(TITLES, "not-checked") | {name: "fail"}
    assert verdicts(findings(broken)) == expected
    assert {each.because for each in judge(findings(broken)) if each.id != name} == {name}


def test_a_trouble_of_a_later_process_counts_too() -> None:
    later = conversation("end-of-input", 0, trouble=TROUBLE, leaving=None)
    assert verdicts(findings(conversation("shutdown", 2), later)) == {
        "step": "fail",
        "clean-start": "not-checked",
        "leaves": "not-checked",
    }


@pytest.mark.parametrize(
    ("again", "place", "mend"),
    [
        ((Observation(200, 1, 2), *ROUND[1:]), "operation 1", "Something outlives `reset`"),
        ((ROUND[0], Observation(200, 4, 1), *ROUND[2:]), "operation 2", "Give receipts as"),
    ],
)
def test_different_answers_are_told_with_their_place(
    again: tuple[Observation, ...], place: str, mend: str
) -> None:
    in_one = conversation("shutdown", 2, rounds=[ROUND, again])
    in_two = conversation("end-of-input", 1, rounds=[again])
    same = findings(in_one, conversation("end-of-input", 1))
    fresh = findings(conversation("shutdown", 2), in_two)
    for found, where in ((same, "in the same process"), (fresh, "in a fresh process")):
        failed = check(found, "clean-start")
        assert failed.verdict == "fail"
        assert where in failed.seen
        assert place in failed.seen
        assert failed.mend is not None
        assert failed.mend.startswith(mend)


@pytest.mark.parametrize(
    ("leaving", "seen"),
    [
        (
            left("shutdown", left=False, left_late=True, seconds=1.0, status=-9),
            "It was still there 1.0 s after `shutdown`, and left only once its input was closed.",
        ),
        (
            left("shutdown", left=False, seconds=1.0, status=-9),
            "It was still there 1.0 s after `shutdown`, and had to be killed.",
        ),
        (
            left("shutdown", status=3, exit="exited with status 3"),
            "After `shutdown` it exited with status 3.",
        ),
    ],
)
def test_a_bad_end_is_told(leaving: Leaving, seen: str) -> None:
    ending_badly = conversation("shutdown", 2, leaving=leaving)
    failed = check(findings(ending_badly, conversation("end-of-input", 1)), "leaves")
    assert failed.verdict == "fail"
    assert failed.seen == seen


def test_processes_of_an_adapter_that_never_left_are_not_judged() -> None:
    staying = (
        conversation("shutdown", 2, leaving=left("shutdown", left=False, strays=2)),
        conversation("end-of-input", 1, leaving=left("end-of-input", left=False)),
    )
    assert verdicts(findings(*staying)) == {"leaves": "fail", "processes": "not-checked"}
    assert check(findings(*staying), "processes").because == "leaves"


def test_processes_that_stay_are_named_once_each_and_safely() -> None:
    commands = ("sleep 9", "sleep 9", "\x1b[31m", "c", "d", "e", "f")
    messy = conversation("shutdown", 2, leaving=left("shutdown", strays=7, stray_commands=commands))
    failed = check(findings(messy, conversation("end-of-input", 1)), "processes")
    assert failed.verdict == "fail"
    assert failed.seen.endswith(": sleep 9, \\x1b[31m, c, d, e, ....")


@pytest.mark.parametrize(
    ("call_seconds", "startup_seconds", "verdict", "is_narrow"),
    [
        (0.999, 14.9, "pass", False),
        (1.001, 14.9, "pass", True),
        (0.001, 15.1, "pass", True),
        (2.001, 0.1, "fail", True),
    ],
)
def test_the_room_under_the_time_limits(
    call_seconds: float, startup_seconds: float, verdict: str, is_narrow: bool
) -> None:
    slow = conversation("shutdown", 2, startup_seconds=startup_seconds)
    slow.answers.append(Answer("step", call_seconds))
    judged = check(findings(slow, conversation("end-of-input", 1)), "time")
    assert judged.verdict == verdict
    assert (judged.mend is not None) == is_narrow


def test_the_time_of_initialize_is_the_start_s() -> None:
    slow = conversation("shutdown", 2, startup_seconds=5.0)
    slow.answers.append(Answer("initialize", 5.0))
    assert verdicts(findings(slow, conversation("end-of-input", 1))) == {}


@pytest.mark.parametrize("name", ["well", "unwell", "narrow", "interrupted"])
def test_the_report_for_people(name: str) -> None:
    slow = conversation("shutdown", 2)
    slow.answers.append(Answer("step", 1.2))
    unwell = conversation("shutdown", 0, trouble=TROUBLE, leaving=None)
    found, interrupted_by = {
        "well": (findings(), None),
        "unwell": (findings(unwell, conversation("end-of-input", 0)), None),
        "narrow": (findings(slow, conversation("end-of-input", 1)), None),
        "interrupted": (findings(conversation("shutdown", 1, leaving=None)), "SIGINT"),
    }[name]
    report = make_report(found, ADAPTER, interrupted_by)
    text = rendered(render_doctor(report, "retryproof run -- ./adapter --port '80 81'"))
    assert_golden(f"doctor/doctor-{name}.txt", text)

"""The self-test passes only if the reference passes and each fault is found for what it is."""

from collections.abc import Sequence

import pytest
from retryproof.reports.report import Report
from retryproof.reports.self_test import Trial, render_self_test, summarize

from tests.bundle import BUNDLE
from tests.golden_files import rendered
from tests.reports.runs import ScriptedRun, complete_run
from tests.strategies import FAULT_NAMES

GOOD_TRIALS = [
    Trial("python", fault, complete_run(fault, evidence="self-test"))
    for fault in (None, *FAULT_NAMES)
]


def crashed_run() -> Report:
    run = ScriptedRun()
    run.launch()
    run.case_fails_at(BUNDLE.cases[0], (), "crash", "It was ended by SIGSEGV.")
    return run.report()


def not_launched_run() -> Report:
    run = ScriptedRun()
    run.launch_fails("launch", "The program was not found.")
    return run.report()


@pytest.mark.parametrize("trial", GOOD_TRIALS, ids=lambda trial: trial.fault or "reference")
def test_a_trial_that_goes_as_it_must_has_no_problem(trial: Trial) -> None:
    assert trial.problem(BUNDLE) is None


@pytest.mark.parametrize(
    ("trial", "problem"),
    [
        pytest.param(
            Trial("python", None, complete_run("sliding-expiry")),
            "the cases fixed-expiry failed, where none must",
            id="the reference fails a case",
        ),
        pytest.param(
            Trial("python", "sliding-expiry", complete_run()),
            "the cases none failed, where fixed-expiry must",
            id="a fault is not found",
        ),
        pytest.param(
            Trial("python", "body-blind", complete_run("forget-on-loss")),
            "the cases lost-create, lost-replay failed, where body-conflict, "
            "new-body-after-expiry must",
            id="another fault is found",
        ),
        pytest.param(
            Trial("python", None, crashed_run()),
            "matching-replay: crash: It was ended by SIGSEGV.",
            id="a crash",
        ),
        pytest.param(
            Trial("node", "body-blind", not_launched_run()),
            "matching-replay: launch: The program was not found.",
            id="no launch",
        ),
    ],
)
def test_a_trial_that_goes_otherwise_says_what_is_wrong(trial: Trial, problem: str) -> None:
    assert trial.problem(BUNDLE) == problem


def test_a_fault_that_fails_the_right_cases_in_the_wrong_way_is_a_problem() -> None:
    """A fault has to be named, too: here each of its cases fails, but not like it."""
    run = ScriptedRun()
    run.launch()
    for case in BUNDLE.cases:
        trace = list(case.expected)
        if case.name in BUNDLE.fault("sliding-expiry").caught_by:
            trace[-1] = trace[0]
        run.case(case, trace)
    run.shut_down()

    assert Trial("python", "sliding-expiry", run.report()).problem(BUNDLE) == "diagnosed as None"


def test_a_run_that_was_cut_short_is_never_a_pass() -> None:
    run = ScriptedRun()
    run.launch()
    run.case(BUNDLE.cases[0], BUNDLE.cases[0].expected)
    run.gone()
    trial = Trial("python", None, run.report(interrupted_by="SIGTERM"))

    assert trial.problem(BUNDLE) is not None


@pytest.mark.parametrize(
    ("trials", "verdict", "status"),
    [
        pytest.param(GOOD_TRIALS, "pass", 0, id="all well"),
        pytest.param([*GOOD_TRIALS, Trial("node", None, crashed_run())], "fail", 1, id="one crash"),
        pytest.param([], "fail", 1, id="nothing could be tried"),
    ],
)
def test_the_self_test_passes_if_each_trial_does_and_there_is_one(
    trials: Sequence[Trial], verdict: str, status: int
) -> None:
    report = summarize(BUNDLE, trials, ())

    assert (report.verdict, report.exit_status) == (verdict, status)
    assert (report.schema, report.evidence) == ("retryproof.self-test/1", "self-test")
    assert report.not_covered == BUNDLE.not_covered
    assert len(report.trials) == len(trials)


def test_each_trial_stands_in_the_report_with_what_it_found() -> None:
    report = summarize(BUNDLE, GOOD_TRIALS, ())

    assert [trial.diagnosed for trial in report.trials] == [None, *FAULT_NAMES]
    for trial, fault in zip(report.trials[1:], BUNDLE.faults, strict=True):
        assert (trial.fault, trial.failed_cases) == (fault.name, fault.caught_by)
        assert (trial.verdict, trial.problem) == ("pass", None)


def test_the_text_says_what_works_what_does_not_and_what_was_left_out() -> None:
    trials = [GOOD_TRIALS[0], GOOD_TRIALS[3], Trial("node", None, crashed_run())]
    lines = rendered(
        render_self_test(summarize(BUNDLE, trials, ["node: it is not installed."]))
    ).splitlines()

    assert lines[0] == "FAIL: this installation does not work as it must"
    assert lines[1].startswith("Evidence: self-test: ")
    assert [" ".join(line.split()) for line in lines[3:]] == [
        "pass python the reference passes every case",
        "pass python the fault sliding-expiry is found and named, by fixed-expiry",
        "FAIL node the reference: matching-replay: crash: It was ended by SIGSEGV.",
        "skip node: it is not installed.",
    ]


def test_a_passed_self_test_says_so_first() -> None:
    text = rendered(render_self_test(summarize(BUNDLE, GOOD_TRIALS, ())))

    assert text.startswith("pass: this installation works\n")

"""Every planned case is accounted for, whatever happens in a run."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from retryproof.contract.bundle import Case
from retryproof.contract.model import REFERENCE, faulty
from retryproof.errors import FailureKind
from retryproof.events import CallFailed, CallReturned, CallStarted, CaseStarted
from retryproof.reports.exit_status import exit_status_of
from retryproof.reports.report import Report
from retryproof.runner import policy
from retryproof.runner.policy import Finish, Launch, Progress, RunCase
from retryproof_protocol.messages import Observation

from tests.bundle import BUNDLE
from tests.reports.runs import ScriptedRun
from tests.strategies import FAULT_NAMES, observations, repeatable

CALL_FAILURES: list[FailureKind] = ["timeout", "malformed", "crash", "adapter-error"]
LAUNCH_FAILURES: list[FailureKind] = ["launch", "version", "malformed", "crash"]


class Interrupted(Exception):  # noqa: N818 - it is a signal, and no error
    """The run was cut short here."""


class RandomRun:
    """Drives the real policy through a run whose luck is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.cases = draw(
            st.lists(st.sampled_from(BUNDLE.cases), unique=True, min_size=1).map(tuple)
        )
        self.run = ScriptedRun(self.cases)
        self.fault = draw(st.none() | st.sampled_from(FAULT_NAMES))
        self.interrupted_by: str | None = None

    def play(self) -> None:
        progress = Progress(tuple(c.name for c in self.cases), self.draw(st.booleans()))
        by_name = {case.name: case for case in self.cases}
        try:
            while (action := policy.decide(progress)) != Finish():
                match action:
                    case Launch():
                        progress = self.launch(progress)
                    case RunCase(name):
                        progress = self.run_case(by_name[name], progress)
                    case _:
                        self.run.shut_down(("It left badly.",) * self.draw(st.integers(0, 1)))
                        progress = policy.shut_down(progress)
        except Interrupted:
            self.interrupted_by = self.draw(st.sampled_from(["SIGINT", "SIGTERM"]))

    def launch(self, progress: Progress) -> Progress:
        fate = self.draw(st.sampled_from(["well"] * 6 + ["badly", "interrupted", "cut short"]))
        if fate == "well":
            self.run.launch()
            return policy.launched(progress)
        if fate == "badly":
            kind = self.draw(st.sampled_from(LAUNCH_FAILURES))
            self.run.launch_fails(kind, process=self.draw(st.booleans()))
            return policy.not_launched(progress)
        if fate == "interrupted":
            self.run.launch_fails("interrupted", process=True)
        raise Interrupted

    def run_case(self, case: Case, progress: Progress) -> Progress:
        trace = self.trace(case)
        fate = self.draw(
            st.sampled_from(["well"] * 8 + ["badly", "badly", "interrupted", "before"])
        )
        if fate == "before":
            self.run.gone()
            raise Interrupted
        if fate == "well":
            self.run.case(case, trace)
            return policy.case_completed(progress)
        kind = "interrupted" if fate == "interrupted" else self.draw(st.sampled_from(CALL_FAILURES))
        answered = self.draw(st.integers(-1, len(trace) - 1))
        self.run.case_fails_at(case, trace[: max(answered, 0)], kind, at_reset=answered < 0)
        if fate == "interrupted":
            raise Interrupted
        return policy.case_broken_off(progress)

    def trace(self, case: Case) -> Sequence[Observation]:
        model = REFERENCE if self.fault is None else faulty(self.fault)
        trace = list(model.trace(case.steps))
        if self.draw(st.sampled_from([False, False, False, True])):
            trace[self.draw(st.integers(0, len(trace) - 1))] = self.draw(observations)
        return trace


@st.composite
def runs(draw: st.DrawFn) -> tuple[ScriptedRun, Report]:
    random_run = RandomRun(draw)
    random_run.play()
    return random_run.run, random_run.run.report(random_run.interrupted_by)


@repeatable(150)
@given(runs())
def test_planned_is_passed_and_failed_and_incomplete_and_not_run(
    run_and_report: tuple[ScriptedRun, Report],
) -> None:
    _, report = run_and_report
    counts = report.counts
    verdicts = [case.verdict for case in report.cases]

    assert counts.planned == len(report.cases)
    assert counts.planned == counts.passed + counts.failed + counts.incomplete + counts.not_run
    assert counts.passed == verdicts.count("pass")
    assert counts.failed == verdicts.count("fail")
    assert counts.incomplete == verdicts.count("incomplete")
    assert counts.not_run == verdicts.count("not-run")


@repeatable(150)
@given(runs())
def test_each_failure_and_each_observation_is_in_the_report(
    run_and_report: tuple[ScriptedRun, Report],
) -> None:
    run, report = run_and_report
    failures = [event.failure for event in run.events if isinstance(event, CallFailed)]
    answers = [event for event in run.events if isinstance(event, CallReturned)]

    assert [case.failure for case in report.cases if case.failure is not None] == failures
    assert [step.actual for case in report.cases for step in case.steps if step.actual] == [
        event.observation for event in answers if event.observation is not None
    ]
    begun = [event.call for event in run.events if isinstance(event, CallStarted)]
    assert report.resources.calls == sum(call.method != "initialize" for call in begun)


@repeatable(150)
@given(runs())
def test_the_verdict_of_a_case_follows_from_what_happened_in_it(
    run_and_report: tuple[ScriptedRun, Report],
) -> None:
    run, report = run_and_report
    started = {event.case for event in run.events if isinstance(event, CaseStarted)}

    for case in report.cases:
        actual = [step.actual for step in case.steps]
        differs = any(step.actual not in {None, step.expected} for step in case.steps)
        assert (case.verdict == "incomplete") is (case.failure is not None)
        assert (case.verdict == "not-run") is (case.failure is None and case.name not in started)
        assert (case.verdict in {"pass", "fail"}) is (None not in actual)
        if None not in actual:
            assert case.verdict == ("fail" if differs else "pass")
        assert all(bool(step.differences) is bool(step.difference_class) for step in case.steps)
        if case.resembles:
            assert case.verdict == "fail"


@repeatable(150)
@given(runs())
def test_the_verdict_of_the_run_follows_from_the_counts(
    run_and_report: tuple[ScriptedRun, Report],
) -> None:
    _, report = run_and_report
    counts = report.counts

    assert (report.verdict == "pass") is (counts.passed == counts.planned)
    assert (report.verdict == "incomplete") is (counts.incomplete + counts.not_run > 0)
    assert report.exit_status == exit_status_of(report.verdict, report.interrupted_by)
    if report.interrupted_by is None:
        assert report.exit_status == (0 if report.verdict == "pass" else 1)


@repeatable(100)
@given(runs())
def test_a_report_survives_its_json_form(run_and_report: tuple[ScriptedRun, Report]) -> None:
    _, report = run_and_report

    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report

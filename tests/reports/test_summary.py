"""What the report makes of the events of a run, event by event."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof import __version__
from retryproof.contract.bundle import Case
from retryproof.contract.model import REFERENCE
from retryproof.errors import FailureKind
from retryproof.events import (
    AdapterLaunched,
    Call,
    CallReturned,
    CaseStarted,
    RunEnded,
)
from retryproof.reports.report import Deviation, Latency, Report
from retryproof.reports.summary import Summary
from retryproof_protocol.messages import AdapterIdentity, Observation

from tests.bundle import BUNDLE, CASES
from tests.reports.runs import LOAD, MODULE, PLATFORM, ScriptedRun, adapter, complete_run
from tests.strategies import FAULT_NAMES, repeatable

FIRST, SECOND, THIRD = BUNDLE.cases[:3]


def passed(run: ScriptedRun, case: Case) -> None:
    run.case(case, case.expected)


def verdicts(report: Report) -> list[str]:
    return [case.verdict for case in report.cases]


def test_a_run_without_a_difference_passes() -> None:
    report = complete_run()

    assert (report.verdict, report.exit_status) == ("pass", 0)
    assert set(verdicts(report)) == {"pass"}
    assert report.diagnosis.fault is None


@pytest.mark.parametrize("fault", FAULT_NAMES)
def test_a_fault_fails_its_cases_and_is_named(fault: str) -> None:
    report = complete_run(fault)

    failed = [case.name for case in report.cases if case.verdict == "fail"]
    assert failed == list(BUNDLE.fault(fault).caught_by)
    assert (report.verdict, report.exit_status) == ("fail", 1)
    assert report.diagnosis.fault == fault
    for case in report.cases:
        assert (fault in case.resembles) is (case.verdict == "fail")


def test_a_step_stands_in_the_report_with_what_was_expected_and_what_came() -> None:
    run = ScriptedRun([CASES["body-conflict"]])
    run.launch()
    run.case(
        CASES["body-conflict"],
        [Observation(201, 1, 1), Observation(422, None, 1), Observation(200, 1, 2)],
    )
    run.shut_down()

    [case] = run.report().cases

    assert [step.operation for step in case.steps] == list(CASES["body-conflict"].steps)
    assert [step.expected for step in case.steps] == list(CASES["body-conflict"].expected)
    assert [step.differences for step in case.steps] == [(), ("status",), ("committedWrites",)]
    assert [step.difference_class for step in case.steps] == [None, "status-only", "effect"]
    assert [step.elapsed_ms for step in case.steps] == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("kind", ["launch", "version", "malformed", "crash", "interrupted"])
@pytest.mark.parametrize("process", [False, True], ids=["no process", "a process"])
def test_a_failure_before_the_first_case_counts_against_it(
    kind: FailureKind, process: bool
) -> None:
    run = ScriptedRun()
    run.launch_fails(kind, process=process)

    report = run.report()

    assert verdicts(report) == ["incomplete"] + ["not-run"] * 6
    assert report.cases[0].failure is not None
    assert report.cases[0].failure.kind == kind
    assert report.cases[0].failure.call == Call("initialize")
    assert report.verdict == "incomplete"
    assert report.resources.processes_spawned == int(process)
    assert report.containment == ("guard" if process else None)
    assert report.adapter.name is None


def test_after_a_broken_case_the_rest_is_not_run() -> None:
    run = ScriptedRun()
    run.launch()
    passed(run, FIRST)
    run.case_fails_at(SECOND, SECOND.expected[:2], "timeout")

    report = run.report()

    assert verdicts(report) == ["pass", "incomplete"] + ["not-run"] * 5
    assert [step.actual for step in report.cases[1].steps] == [*SECOND.expected[:2], None]
    assert report.cases[1].steps[2].elapsed_ms is None


def test_a_broken_case_keeps_the_differences_before_its_failure() -> None:
    run = ScriptedRun([SECOND])
    run.launch()
    run.case_fails_at(SECOND, [Observation(201, 1, 1), Observation(409, None, 7)], "crash")

    [case] = run.report().cases

    assert case.verdict == "incomplete"
    assert case.steps[1].differences == ("committedWrites",)
    assert case.resembles == ()


def test_a_failure_at_reset_breaks_its_own_case() -> None:
    run = ScriptedRun()
    run.launch()
    passed(run, FIRST)
    run.case_fails_at(SECOND, (), "adapter-error", at_reset=True)

    report = run.report()

    assert verdicts(report) == ["pass", "incomplete"] + ["not-run"] * 5
    assert report.cases[1].failure is not None
    assert report.cases[1].failure.call == Call("reset")


def test_when_the_run_goes_on_each_broken_case_is_incomplete_and_the_others_count() -> None:
    run = ScriptedRun()
    for index, case in enumerate(BUNDLE.cases):
        if index % 2 == 0:
            run.launch()
            run.case_fails_at(case, case.expected[:1], "crash")
        else:
            run.launch()
            passed(run, case)
            run.gone()

    report = run.report()

    assert verdicts(report) == ["incomplete", "pass"] * 3 + ["incomplete"]
    assert report.resources.processes_spawned == 7


def test_a_later_launch_that_fails_counts_against_the_case_it_was_for() -> None:
    run = ScriptedRun()
    run.launch()
    passed(run, FIRST)
    run.case_fails_at(SECOND, (), "crash")
    run.launch_fails("launch")

    report = run.report()

    assert verdicts(report) == ["pass", "incomplete", "incomplete"] + ["not-run"] * 4
    failures = [case.failure.kind for case in report.cases if case.failure is not None]
    assert failures == ["crash", "launch"]


@pytest.mark.parametrize(("signal", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupted_run_reports_what_was_observed(signal: str, status: int) -> None:
    run = ScriptedRun()
    run.launch()
    passed(run, FIRST)
    run.case_fails_at(SECOND, SECOND.expected[:1], "interrupted")

    report = run.report(interrupted_by=signal)

    assert verdicts(report) == ["pass", "incomplete"] + ["not-run"] * 5
    assert (report.interrupted_by, report.exit_status) == (signal, status)
    assert report.verdict == "incomplete"


def test_an_interruption_between_two_cases_breaks_none() -> None:
    run = ScriptedRun()
    run.launch()
    passed(run, FIRST)
    run.gone(status=-9)

    assert verdicts(run.report(interrupted_by="SIGINT")) == ["pass"] + ["not-run"] * 6


def test_only_the_planned_cases_are_in_the_report_in_their_order() -> None:
    report = complete_run(cases=[THIRD, FIRST])

    assert [case.name for case in report.cases] == [THIRD.name, FIRST.name]
    assert report.counts.planned == 2


def test_a_case_that_was_not_run_shows_what_would_have_been_asked() -> None:
    run = ScriptedRun()
    run.launch_fails()

    last = run.report().cases[-1]

    assert [step.expected for step in last.steps] == list(BUNDLE.cases[-1].expected)
    assert all(step.actual is None and step.differences == () for step in last.steps)


@pytest.mark.parametrize(
    ("seconds", "deviations"),
    [
        pytest.param(2.0, (), id="the contract's limit"),
        pytest.param(5.0, (Deviation("callTimeoutSeconds", 5.0, 2.0),), id="longer"),
        pytest.param(0.5, (Deviation("callTimeoutSeconds", 0.5, 2.0),), id="shorter"),
    ],
)
def test_another_call_limit_is_a_declared_deviation(
    seconds: float, deviations: tuple[Deviation, ...]
) -> None:
    run = ScriptedRun(call_seconds=seconds)
    run.launch_fails()

    assert run.report().deviations == deviations


def test_the_adapter_is_described_by_its_command_and_its_own_words() -> None:
    run = ScriptedRun()
    run.launch(AdapterIdentity("shop", None, "Lua"), seconds_per_tick=0.5)
    run.gone()

    reported = run.report().adapter

    assert reported.command == MODULE
    assert (reported.host, reported.cwd) == ("python", "/project")
    assert reported.added_environment == ("API_KEY",)
    assert (reported.name, reported.version, reported.language) == ("shop", None, "Lua")
    assert (reported.protocol_version, reported.seconds_per_tick) == (1, 0.5)


def test_an_adapter_without_a_host_or_a_name_has_none() -> None:
    run = ScriptedRun(adapter=adapter("./adapter"))
    run.launch(AdapterIdentity(""))
    run.gone()

    reported = run.report().adapter

    assert (reported.host, reported.name) == (None, None)


def test_resources_are_added_up_over_all_processes() -> None:
    run = ScriptedRun()
    run.launch()
    run.case_fails_at(FIRST, (), "crash")
    run.launch()
    passed(run, SECOND)
    run.gone(strays=3, stderr_tail="bye\n", warnings=("It left badly.",))

    report = run.report()
    used = report.resources

    assert (used.processes_spawned, used.processes_leaked) == (2, 3)
    assert (used.cpu_seconds, used.peak_rss_bytes) == (0.5, 20 * 1024 * 1024)
    assert used.calls == 2 + 4, "a reset and a step without an answer; a reset and three steps"
    assert report.warnings == ("It left badly.",)
    assert report.stderr_tail == "bye\n"


def test_the_report_knows_its_contract_its_limits_and_its_origin() -> None:
    report = complete_run(evidence="self-test")

    assert report.schema == "retryproof.report/1"
    assert report.evidence == "self-test"
    assert report.not_covered == BUNDLE.not_covered
    assert (report.contract.name, report.contract.version) == ("retry-conformance", 1)
    assert report.contract.digest == BUNDLE.digest
    assert (report.retryproof, report.platform) == (__version__, PLATFORM)
    assert report.started_at == "2030-01-02T03:04:05.678+00:00"


def latency_of(milliseconds: list[float]) -> Latency | None:
    run = ScriptedRun()
    summary = Summary(BUNDLE)
    events = [
        *run.events,
        AdapterLaunched(0.0, "guard"),
        CallReturned(0.0, Call("initialize"), 99.0),
        CaseStarted(0.0, FIRST.name),
        *(CallReturned(0.0, Call("reset"), value / 1000) for value in milliseconds),
        RunEnded(0.0, LOAD),
    ]
    for event in events:
        summary(event)
    return summary.report().resources.latency_ms


@pytest.mark.parametrize(
    ("milliseconds", "latency"),
    [
        pytest.param([], None, id="no call"),
        pytest.param([7.0], Latency(7.0, 7.0, 7.0), id="one call"),
        pytest.param([2.0, 1.0], Latency(1.0, 2.0, 2.0), id="two calls"),
        pytest.param([3.0, 1.0, 2.0], Latency(2.0, 3.0, 3.0), id="three calls"),
        pytest.param([float(i) for i in range(1, 101)], Latency(50.0, 99.0, 100.0), id="100 calls"),
        pytest.param(
            [float(i) for i in range(1, 102)], Latency(51.0, 100.0, 101.0), id="101 calls"
        ),
        pytest.param([0.12345], Latency(0.123, 0.123, 0.123), id="no more digits than make sense"),
    ],
)
def test_percentiles_are_those_of_the_nearest_rank_without_the_launch(
    milliseconds: list[float], latency: Latency | None
) -> None:
    assert latency_of(milliseconds) == latency


@repeatable(100)
@given(st.lists(st.integers(0, 2000).map(float), min_size=1, max_size=200))
def test_a_percentile_is_the_least_value_that_enough_values_do_not_exceed(
    milliseconds: list[float],
) -> None:
    def least(percent: int) -> float:
        enough = [
            value
            for value in milliseconds
            if 100 * sum(other <= value for other in milliseconds) >= percent * len(milliseconds)
        ]
        return min(enough)

    assert latency_of(milliseconds) == Latency(least(50), least(99), max(milliseconds))


def test_there_is_no_report_before_the_run_has_ended() -> None:
    summary = Summary(BUNDLE)
    with pytest.raises(ValueError, match="has not ended"):
        summary.report()
    for event in ScriptedRun().events:
        summary(event)
    with pytest.raises(ValueError, match="has not ended"):
        summary.report()


def test_the_json_form_has_the_members_of_the_specification() -> None:
    run = ScriptedRun([FIRST])
    run.launch()
    run.case_fails_at(FIRST, REFERENCE.trace(FIRST.steps)[:1], "timeout")
    document = msgspec.to_builtins(run.report())

    # The specification's members, and those that other rules of it ask for besides.
    assert set(document) == {
        *("schema", "evidence", "contract", "verdict", "exitStatus", "adapter", "counts", "cases"),
        *("diagnosis", "warnings", "stderrTail", "notCovered", "resources", "startedAt", "profile"),
        *("elapsedMs", "retryproof", "platform"),
        *("deviations", "interruptedBy", "containment", "limits"),
    }
    assert list(document)[:3] == ["schema", "evidence", "notCovered"]
    assert set(document["contract"]) == {"name", "version", "digest"}
    assert set(document["adapter"]) == {
        *("command", "host", "name", "version", "language", "protocolVersion"),
        *("cwd", "addedEnvironment", "secondsPerTick", "sandbox"),
    }
    assert set(document["counts"]) == {"planned", "passed", "failed", "incomplete", "notRun"}
    assert set(document["diagnosis"]) == {"fault", "explanation"}
    assert set(document["resources"]) == {
        *("calls", "latencyMs", "peakRssBytes", "cpuSeconds"),
        *("processesSpawned", "processesLeaked"),
        *("overshootMs", "loadBefore", "loadAfter"),
    }
    assert set(document["resources"]["latencyMs"]) == {"p50", "p99", "max"}
    [case] = document["cases"]
    assert set(case) == {
        *("name", "title", "verdict", "steps", "failure", "resembles"),
        "promise",
    }
    assert set(case["steps"][0]) == {
        *("operation", "expected", "actual", "differences", "class", "elapsedMs"),
    }
    assert set(case["failure"]) == {
        *("kind", "call", "message", "definite", "elapsedMs"),
        "advice",
    }
    assert case["failure"]["call"] == {"method": "step", "step": 1}

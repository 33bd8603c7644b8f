"""The text of representative reports, to the letter: see tests/golden_files.py."""

from collections.abc import Callable

import msgspec
import pytest
from retryproof.reports.comparison_text import render_check, render_compare, render_reduce
from retryproof.reports.report import Report
from retryproof.reports.self_test import Trial, render_self_test, summarize
from retryproof.reports.text import render_report
from retryproof_protocol.messages import AdapterIdentity, Observation

from tests.bundle import BUNDLE
from tests.golden_files import FOLDER, assert_golden, rendered
from tests.reports.comparisons import CHECKS, COMPARISONS, REDUCTIONS
from tests.reports.runs import ScriptedRun, adapter, complete_run
from tests.strategies import FAULT_NAMES

FIRST, SECOND, THIRD = BUNDLE.cases[:3]
PROGRAM = adapter("java", "-jar", "shop adapter.jar")


def timeout() -> Report:
    run = ScriptedRun()
    run.launch()
    run.case(FIRST, FIRST.expected)
    run.case_fails_at(
        SECOND,
        SECOND.expected[:1],
        "timeout",
        "No answer to `step` within 2 s: the adapter was killed, and with it 2 more processes "
        "(sleep x2). Whether this call took effect is unknown.",
        "Look for an endless loop, a lock, or a request to a service that does not answer.",
    )
    return run.report()


def crash() -> Report:
    run = ScriptedRun()
    run.launch()
    run.case_fails_at(
        FIRST,
        (),
        "crash",
        "The adapter was ended by SIGSEGV while `reset` was pending.",
        "Its stderr says more, if it wrote anything.",
        at_reset=True,
    )
    return run.report()


def malformed_and_going_on() -> Report:
    """With a wrong answer before, and the next case in a fresh process."""
    run = ScriptedRun([SECOND, THIRD])
    run.launch()
    run.case_fails_at(
        SECOND,
        [Observation(201, 1, 1), Observation(200, 1, 2)],
        "malformed",
        'The line "Order accepted" is not JSON: invalid character (byte 0).',
        "Something printed to stdout. Stdout belongs to the protocol.",
    )
    run.launch()
    run.case(THIRD, THIRD.expected)
    run.shut_down(("After `shutdown` the adapter exited with status 3.",))
    return run.report()


def launch() -> Report:
    run = ScriptedRun(adapter=PROGRAM)
    run.launch_fails(
        "launch", "The program java was not found (in /project).", advice="Check the spelling."
    )
    return run.report()


def interrupted() -> Report:
    run = ScriptedRun(call_seconds=5.0)
    run.launch(AdapterIdentity("shop"), seconds_per_tick=1.0)
    run.case(FIRST, FIRST.expected)
    run.case_fails_at(
        SECOND,
        SECOND.expected[:2],
        "interrupted",
        "The run was interrupted while `step` was pending, and the adapter was killed. "
        "Whether this call took effect is unknown.",
    )
    return run.report(interrupted_by="SIGINT")


def status_only() -> Report:
    """A service that answers every success with 200, and a conflict with 422."""
    statuses = {201: 200, 409: 422}
    run = ScriptedRun(adapter=PROGRAM)
    run.launch()
    for case in BUNDLE.cases:
        run.case(
            case,
            [
                msgspec.structs.replace(seen, status=statuses.get(seen.status or 0, seen.status))
                for seen in case.expected
            ],
        )
    run.shut_down()
    return run.report()


RUNS: dict[str, Callable[[], Report]] = {
    "pass": complete_run,
    **{fault: lambda fault=fault: complete_run(fault) for fault in FAULT_NAMES},  # type: ignore[misc]
    "timeout": timeout,
    "crash": crash,
    "malformed": malformed_and_going_on,
    "launch": launch,
    "interrupted": interrupted,
    "status-only": status_only,
}


@pytest.mark.parametrize("name", RUNS)
def test_the_report_of_a_run_reads_as_before(name: str) -> None:
    report = RUNS[name]()

    text = rendered(
        render_report(report, BUNDLE, lambda case: f"retryproof run --case {case} ./adapter.py")
    )

    assert_golden(f"reports/run-{name}.txt", text)


def test_the_report_of_the_self_test_reads_as_before() -> None:
    trials = [
        Trial("python", fault, complete_run(fault, evidence="self-test"))
        for fault in (None, *FAULT_NAMES)
    ]
    broken = Trial("node", None, crash())
    report = summarize(BUNDLE, [*trials, broken], ["perl: perl was not found."])

    assert_golden("reports/self-test.txt", rendered(render_self_test(report)))


@pytest.mark.parametrize("name", CHECKS)
def test_the_answer_of_check_reads_as_before(name: str) -> None:
    assert_golden(f"reports/check-{name}.txt", rendered(render_check(CHECKS[name])))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_answer_of_reduce_reads_as_before(name: str) -> None:
    assert_golden(f"reports/reduce-{name}.txt", rendered(render_reduce(REDUCTIONS[name])))


@pytest.mark.parametrize("name", COMPARISONS)
def test_the_answer_of_compare_reads_as_before(name: str) -> None:
    assert_golden(f"reports/compare-{name}.txt", rendered(render_compare(COMPARISONS[name])))


def test_no_golden_file_is_left_over() -> None:
    expected = {f"run-{name}.txt" for name in RUNS} | {"self-test.txt"}
    expected |= {f"check-{name}.txt" for name in CHECKS}
    expected |= {f"reduce-{name}.txt" for name in REDUCTIONS}
    expected |= {f"compare-{name}.txt" for name in COMPARISONS}

    assert {path.name for path in (FOLDER / "reports").glob("*.txt")} == expected

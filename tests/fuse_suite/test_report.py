"""The report of the suite retryfuse from events as the runner emits them, to the letter."""

from collections.abc import Callable

import pytest
from retryproof import __version__
from retryproof.events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    Call,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Evaluated,
    Failure,
    RunEnded,
    RunStarted,
)
from retryproof.fuse.diagnosis import faulty_answer
from retryproof.fuse.matrix import CONTRACT, REFUSED, Matrix
from retryproof.reports.fuse_report import FuseReport
from retryproof.reports.fuse_suite_text import render_fuse_report
from retryproof.reports.fuse_summary import FuseSummary
from retryproof_protocol.messages import AdapterIdentity

from tests.fuse_suite.driving import CASES, MATRIX
from tests.golden_files import FOLDER, assert_golden, rendered
from tests.reports.runs import LOAD, MODULE_ADAPTER, PLATFORM, limits

CHOSEN = (
    "rows-2-and-7",
    "spent-exactly-a-budget",
    "misspelt-record",
    "timeout-without-phase",
    "rows-1-and-3",
    "sum-exact-beyond-a-double",
)
EVALUATE = Call("evaluate")
REFUSAL = Evaluated(REFUSED, "priorRecrod is not allowed\n\x1b[31mhere")


class ScriptedRun:
    """A run of the chosen cases that goes as the test says; each call takes a millisecond."""

    def __init__(self) -> None:
        digest = "sha256:0123"  # A new case of the matrix must not change these files.
        matrix = Matrix(MATRIX.cases[:100], ("latin-1", "utf-16"), digest, {})
        self._summary = FuseSummary(matrix)
        self._now = 0.0
        cases = tuple(CASES[name] for name in CHOSEN)
        started_at = "2030-01-02T03:04:05.678+00:00"
        self._summary(
            RunStarted(
                0.0,
                started_at,
                CONTRACT,
                digest,
                cases,
                MODULE_ADAPTER,
                limits(2.0),
                LOAD,
                "adapter",
                __version__,
                PLATFORM,
            )
        )
        self._summary(AdapterLaunched(0.0, "guard"))
        self._summary(AdapterInitialized(0.0, AdapterIdentity("fuse", "1"), 1, None))

    def answer(self, name: str, evaluated: Evaluated) -> None:
        self._begin(name)
        self._summary(CallReturned(self._now, EVALUATE, 0.001, evaluation=evaluated))

    def fail(self, name: str) -> None:
        self._begin(name)
        failure = Failure("timeout", EVALUATE, "No answer.", "Look for a loop.", False, 2000.5)
        self._summary(CallFailed(self._now, failure))

    def report(self, interrupted_by: str | None = None) -> FuseReport:
        self._summary(AdapterGone(self._now, 0, 0, (), 0.25, 20 * 2**20, "", ()))
        self._summary(RunEnded(self._now, LOAD, interrupted_by))
        return self._summary.report()

    def _begin(self, name: str) -> None:
        self._now += 0.001
        self._summary(CaseStarted(self._now, name))
        self._summary(CallStarted(self._now, EVALUATE))


def correct() -> FuseReport:
    run = ScriptedRun()
    for name in CHOSEN:
        run.answer(name, Evaluated(CASES[name].expected))
    return run.report()


def faulty() -> FuseReport:
    run = ScriptedRun()
    for name in CHOSEN:
        run.answer(name, Evaluated(faulty_answer("budget-blind", CASES[name])))
    return run.report()


def refusing() -> FuseReport:
    run = ScriptedRun()
    for name in CHOSEN:
        run.answer(name, REFUSAL)
    return run.report()


def broken() -> FuseReport:
    run = ScriptedRun()
    run.answer(CHOSEN[0], Evaluated(CASES[CHOSEN[0]].expected))
    run.fail(CHOSEN[1])
    return run.report("SIGINT")


RUNS: dict[str, Callable[[], FuseReport]] = {
    "correct": correct,
    "faulty": faulty,
    "refusing": refusing,
    "broken": broken,
}


@pytest.mark.parametrize("name", RUNS)
def test_it_reads_as_before(name: str) -> None:
    text = rendered(
        render_fuse_report(RUNS[name](), lambda case: f"retryproof run --case {case} ./fuse.py")
    )

    assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) == {"\n"}
    assert_golden(f"fuse-suite/{name}.txt", text)


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in (FOLDER / "fuse-suite").glob("*")} == set(RUNS)


def test_what_breaks_off_is_accounted_for_in_its_category() -> None:
    report = broken()

    assert (report.verdict, report.exit_status) == ("incomplete", 130)
    counts = {category.name: category.counts for category in report.categories}
    assert sum(count.planned for count in counts.values()) == len(CHOSEN)
    assert counts["negative"].incomplete == 1
    assert counts["malformed"].not_run == 1
    assert report.resources.overshoot_ms == 0.5

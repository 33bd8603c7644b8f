"""Driving one behaviour of the zoo, and what its report must say."""

import sys
from pathlib import Path

import anyio
from retryproof.app import RunRequest, drive_async
from retryproof.reports.report import Report
from retryproof.suites import RetrySuite
from retryproof.supervise.launch import program

from tests.driving import BUNDLE, assert_conserved, here
from tests.zoo.table import CALL_SECONDS, CASES, Row

SUITE = RetrySuite(BUNDLE)
FAULTY = str(Path(__file__).parent.parent.parent / "fixtures/faulty/adapter.py")
PATIENCE_SECONDS = 60
"""For a whole run on a machine that does other things as well: only a hang takes longer."""


async def drive(row: Row, folder: Path) -> Report:
    once = ("--once", str(folder / f"{row.name}.once"))
    argv = (sys.executable, "-I", "-S", FAULTY, *once, *row.arguments)
    request = RunRequest(program(argv, here()), CASES, row.time_and_other_limits(), keep_going=True)
    with anyio.fail_after(PATIENCE_SECONDS):
        return await drive_async(SUITE, request)


def check(row: Row, report: Report) -> None:
    assert_conserved(report)
    assert tuple(case.verdict for case in report.cases) == row.expected_verdicts()
    failures = [case.failure for case in report.cases if case.failure is not None]
    if row.kind is None:
        assert failures == []
    else:
        (failure,) = failures
        assert failure.kind == row.kind
        assert failure.message.startswith(row.message)
        assert row.advice in failure.advice
        assert failure.definite == (row.kind in {"launch", "version"})
        if row.kind == "timeout":
            assert failure.elapsed_ms >= CALL_SECONDS * 1000
            assert report.resources.overshoot_ms is not None
    assert row.warning in "".join(report.warnings)
    assert bool(row.warning) == bool(report.warnings)
    if row.strays >= 0:
        assert report.resources.processes_leaked == row.strays
    assert not any(map(_is_control, report.stderr_tail.replace("\n", "")))


def _is_control(character: str) -> bool:
    return ord(character) < 32

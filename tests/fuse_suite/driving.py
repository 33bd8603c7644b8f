"""Driving adapters through the suite retryfuse, with the checks that every run must stand."""

import sys
from collections.abc import Sequence
from pathlib import Path

from retryproof.app import RunRequest, drive_suite, fuse_matrix
from retryproof.events import Sink
from retryproof.reports.fuse_report import FuseCaseReport, FuseReport
from retryproof.suites import FuseSuite
from retryproof.supervise.launch import Launch, program
from retryproof.supervise.limits import Limits

from tests.driving import assert_nothing_is_left, here

MATRIX = fuse_matrix()
CASES = {case.name: case for case in MATRIX.cases}
REFERENCE = str(Path(__file__).parent.parent.parent / "adapters/python/fuse_reference.py")
FEW = tuple(name for name in CASES if name.startswith("rows-1-and-"))


def reference(*arguments: str) -> Launch:
    """The reference adapter as a program."""
    return program((sys.executable, REFERENCE, *arguments), here())


def run(
    launch: Launch,
    *,
    cases: Sequence[str] = (),
    call_seconds: float = 2.0,
    keep_going: bool = False,
    sinks: Sequence[Sink] = (),
) -> FuseReport:
    """Drives the adapter; every planned case must be accounted for, and no process be left."""
    request = RunRequest(launch, tuple(cases), Limits(10.0, call_seconds), keep_going)
    report = drive_suite(FuseSuite(MATRIX), request, sinks)
    counts = report.counts
    accounted = counts.passed + counts.failed + counts.incomplete + counts.not_run
    assert counts.planned == accounted == len(report.cases)
    assert counts.planned == sum(category.counts.planned for category in report.categories)
    assert report.exit_status == (0 if counts.passed == counts.planned else 1)
    assert_nothing_is_left()
    return report


def failed(report: FuseReport) -> list[FuseCaseReport]:
    """The failed cases."""
    return [case for case in report.cases if case.verdict == "fail"]

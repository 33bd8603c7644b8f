"""Examining adapters in tests, as real processes."""

import sys
from pathlib import Path

from retryproof.app import examine
from retryproof.reports.doctor import TITLES, CheckId, CheckReport, DoctorReport
from retryproof.supervise.launch import Launch, program
from retryproof.supervise.limits import Limits

from tests.driving import BUNDLE, here

FAULTY = str(Path(__file__).parent.parent.parent / "fixtures/faulty/adapter.py")


def faulty(*behaviours: str) -> Launch:
    """The faulty adapter, misbehaving so."""
    return program((sys.executable, "-I", "-S", FAULTY, *behaviours), here())


def examined(launch: Launch, limits: Limits | None = None) -> DoctorReport:
    """The report, whose checks must be accounted for."""
    report = examine(BUNDLE, launch, limits or Limits(startup_seconds=10.0))
    assert [check.id for check in report.checks] == list(TITLES)
    counts = report.counts
    assert counts.planned == counts.passed + counts.failed + counts.not_checked == len(TITLES)
    assert report.exit_status == (0 if counts.passed == counts.planned else 1)
    return report


def failing(report: DoctorReport) -> list[CheckId]:
    """The checks that failed; each that could not be made names the first of them."""
    failed = [check.id for check in report.checks if check.verdict == "fail"]
    for check in report.checks:
        if check.verdict == "not-checked":
            assert check.because in failed
    return failed


def check_of(report: DoctorReport, name: CheckId) -> CheckReport:
    """The report of one check."""
    return next(check for check in report.checks if check.id == name)

"""Driving adapters in tests, as real processes, with the checks that every run must stand."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
from retryproof.app import RunRequest, contract_bundle, drive
from retryproof.events import Sink
from retryproof.reports.report import CaseReport, Report
from retryproof.supervise.launch import Launch, Surroundings, module, program
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import WireSink

BUNDLE = contract_bundle()
CASE_NAMES = tuple(case.name for case in BUNDLE.cases)
REFERENCE = str(Path(__file__).parent.parent / "adapters/python/reference.py")
NODE_REFERENCE = str(Path(__file__).parent.parent / "adapters/node/reference.mjs")


def here(environment: Mapping[str, str] | None = None) -> Surroundings:
    """The current folder, with what is added to the environment."""
    return Surroundings(os.getcwd(), environment or {})


def python_module(path: Path | str) -> Launch:
    """A Python module adapter under this interpreter."""
    return module(str(path), here(), sys.executable)


def python_program(source: str, *arguments: str) -> Launch:
    """A program of its own: Python source, isolated."""
    return program((sys.executable, "-I", "-c", source, *arguments), here())


def run(
    launch: Launch,
    *,
    cases: Sequence[str] = (),
    call_seconds: float = 2.0,
    startup_seconds: float = 10.0,
    keep_going: bool = False,
    sinks: Sequence[Sink] = (),
    on_wire: WireSink | None = None,
) -> Report:
    """Drives the adapter; every planned case must be accounted for, and no process be left."""
    limits = Limits(startup_seconds, call_seconds)
    request = RunRequest(launch, tuple(cases), limits, keep_going)
    report = drive(BUNDLE, request, sinks, on_wire)
    assert_conserved(report)
    assert_nothing_is_left()
    return report


def assert_conserved(report: Report) -> None:
    """planned = passed + failed + incomplete + notRun, and the cases agree."""
    counts = report.counts
    accounted = counts.passed + counts.failed + counts.incomplete + counts.not_run
    assert counts.planned == accounted == len(report.cases)
    assert report.exit_status == (0 if counts.passed == counts.planned else 1)


def assert_nothing_is_left() -> None:
    """No child and no orphan: this process inherits what its guards would leave behind."""
    assert psutil.Process().children(recursive=True) == []


def case_of(report: Report, name: str) -> CaseReport:
    """The report of one case."""
    return next(case for case in report.cases if case.name == name)


def verdicts(report: Report) -> list[str]:
    """The verdict of each case, in order."""
    return [case.verdict for case in report.cases]

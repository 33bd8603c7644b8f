"""A report that has been through JSON is the report that it was, and is told the same."""

import msgspec
import pytest
from retryproof.api.views import RunWithReport
from retryproof.client.run_reports import report_of
from retryproof.contract.profile import PROFILES
from retryproof.errors import DaemonAnswerError
from retryproof.events import RunEnded
from retryproof.reports.report import Deviation, Report
from retryproof.reports.summary import Summary

from tests.bundle import BUNDLE
from tests.client.views import PASSED, view
from tests.fuse_suite.test_report import RUNS as FUSE_RUNS
from tests.reports.runs import LOAD, ScriptedRun, complete_run
from tests.reports.test_golden_reports import RUNS


def with_report(report: object, suite: str = "retry") -> RunWithReport:
    run = msgspec.structs.asdict(view(**PASSED, suite=suite))
    content = report if isinstance(report, bytes) else msgspec.json.encode(report)
    return RunWithReport(**run, report=msgspec.Raw(content))


@pytest.mark.parametrize("name", RUNS)
def test_of_the_suite_retry(name: str) -> None:
    report = RUNS[name]()
    read = report_of(with_report(report))
    assert read == report
    assert msgspec.json.encode(read) == msgspec.json.encode(report)


@pytest.mark.parametrize("name", FUSE_RUNS)
def test_of_the_suite_retryfuse(name: str) -> None:
    report = FUSE_RUNS[name]()
    read = report_of(with_report(report, "retryfuse"))
    assert read == report
    assert msgspec.json.encode(read) == msgspec.json.encode(report)


def test_declared_deviations_keep_their_types() -> None:
    run = ScriptedRun(call_seconds=5.0)
    profile = msgspec.structs.replace(
        PROFILES["ietf"], create=(200, 201), expires_at_deadline=False
    )
    run.events[0] = msgspec.structs.replace(run.events[0], profile=profile)
    summary = Summary(BUNDLE)
    for event in (*run.events, RunEnded(1.0, LOAD)):
        summary(event)
    read = report_of(with_report(summary.report()))
    assert isinstance(read, Report)
    assert read.deviations == (
        Deviation("create", (200, 201), (201,)),
        Deviation("replay", "same", (200,)),
        Deviation("conflict", (422,), (409,)),
        Deviation("expires_at_deadline", False, True),
        Deviation("callTimeoutSeconds", 5.0, 2.0),
    )
    assert read == summary.report()


def test_a_run_without_one() -> None:
    assert report_of(with_report(None)) is None


@pytest.mark.parametrize(
    ("content", "suite"),
    [(b"{}", "retry"), (b"[", "retry"), (msgspec.json.encode(complete_run()), "retryfuse")],
)
def test_one_that_is_not_in_form(content: bytes, suite: str) -> None:
    with pytest.raises(DaemonAnswerError, match="not in form"):
        report_of(with_report(content, suite))

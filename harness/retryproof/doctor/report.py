"""From findings to the report."""

from .. import __version__
from ..events import AdapterDescription
from ..reports.doctor import DoctorReport, DoctorVerdict, ExaminedAdapter, Timing, count
from ..reports.exit_status import exit_status_of
from .findings import Conversation, Findings
from .timing import slowest_call, slowest_startup
from .verdicts import judge


def make_report(
    findings: Findings, adapter: AdapterDescription, interrupted_by: str | None
) -> DoctorReport:
    """The report. It passes if every check was made and holds."""
    checks = judge(findings)
    counts = count(checks)
    verdict: DoctorVerdict = "fail" if counts.failed else "incomplete"
    if counts.passed == counts.planned:
        verdict = "pass"
    slowest, startup_seconds = slowest_call(findings), slowest_startup(findings)
    return DoctorReport(
        schema="retryproof.doctor/1",
        evidence="protocol",
        verdict=verdict,
        exit_status=exit_status_of(verdict, interrupted_by),
        interrupted_by=interrupted_by,
        adapter=ExaminedAdapter(
            command=adapter.command,
            host=adapter.host,
            cwd=adapter.cwd,
            added_environment=adapter.added_environment,
            identity=next(filter(None, (each.identity for each in findings.conversations)), None),
        ),
        limits=findings.limits,
        counts=counts,
        checks=checks,
        timing=Timing(
            startup_ms=_milliseconds(startup_seconds),
            slowest_call_ms=_milliseconds(None if slowest is None else slowest[1]),
        ),
        stderr_tail=_telling(findings).stderr_tail if findings.conversations else "",
        retryproof=__version__,
    )


def _telling(findings: Findings) -> Conversation:
    """The first conversation that went wrong, or the first one."""
    return next(
        (each for each in findings.conversations if each.trouble is not None),
        findings.conversations[0],
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)

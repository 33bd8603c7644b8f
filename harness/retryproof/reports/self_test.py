"""The report of `self-test`: does this installation work? Schema retryproof.self-test/1."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from rich.text import Text

from ..contract.bundle import Bundle
from .exit_status import exit_status_of
from .report import Report
from .run_text import describe_evidence

SelfTestVerdict = Literal["pass", "fail"]


class Trial(Struct, frozen=True):
    """One bundled adapter, driven for real: the reference (`fault` null) or a known fault."""

    host: str
    fault: str | None
    report: Report

    def problem(self, bundle: Bundle) -> str | None:
        """What is not as it must be, or None."""
        broken = [case for case in self.report.cases if case.failure is not None]
        if broken and broken[0].failure is not None:
            return f"{broken[0].name}: {broken[0].failure.kind}: {broken[0].failure.message}"
        if self.report.verdict == "incomplete":
            return "the run was cut short"
        failed = {case.name for case in self.report.cases if case.verdict == "fail"}
        expected = set() if self.fault is None else set(bundle.fault(self.fault).caught_by)
        if failed != expected:
            return f"the cases {_listed(failed)} failed, where {_listed(expected)} must"
        if self.report.diagnosis.fault != self.fault:
            return f"diagnosed as {self.report.diagnosis.fault}"
        return None


class TrialReport(Struct, frozen=True, rename="camel"):
    """A trial's outcome."""

    host: str
    fault: str | None
    verdict: SelfTestVerdict
    diagnosed: str | None
    failed_cases: tuple[str, ...]
    problem: str | None
    elapsed_ms: float


class SelfTestReport(Struct, frozen=True, rename="camel"):
    """All trials. `skipped` says which hosts were left out, and why."""

    schema: Literal["retryproof.self-test/1"]
    evidence: Literal["self-test"]
    not_covered: tuple[str, ...]
    verdict: SelfTestVerdict
    exit_status: int
    trials: tuple[TrialReport, ...]
    skipped: tuple[str, ...]


def summarize(bundle: Bundle, trials: Sequence[Trial], skipped: Sequence[str]) -> SelfTestReport:
    """The verdict over all trials."""
    reports = tuple(_report_trial(bundle, trial) for trial in trials)
    passed = bool(reports) and all(trial.verdict == "pass" for trial in reports)
    return SelfTestReport(
        schema="retryproof.self-test/1",
        evidence="self-test",
        not_covered=bundle.not_covered,
        verdict="pass" if passed else "fail",
        exit_status=exit_status_of(passed),
        trials=reports,
        skipped=tuple(skipped),
    )


def render_self_test(report: SelfTestReport) -> Iterator[Text]:
    """A line a trial."""
    if report.verdict == "pass":
        yield Text("pass: this installation works", "green")
    else:
        yield Text("FAIL: this installation does not work as it must", "bold red")
    yield from describe_evidence(report.evidence, report.not_covered)
    for trial in report.trials:
        line = Text("  ")
        passed = trial.verdict == "pass"
        line.append("pass  " if passed else "FAIL  ", "green" if passed else "bold red")
        line.append(f"{trial.host.ljust(7)} {_describe(trial)}")
        yield line
    for reason in report.skipped:
        yield Text(f"  skip  {reason}", "yellow")


def _report_trial(bundle: Bundle, trial: Trial) -> TrialReport:
    problem = trial.problem(bundle)
    return TrialReport(
        host=trial.host,
        fault=trial.fault,
        verdict="pass" if problem is None else "fail",
        diagnosed=trial.report.diagnosis.fault,
        failed_cases=tuple(c.name for c in trial.report.cases if c.verdict == "fail"),
        problem=problem,
        elapsed_ms=trial.report.elapsed_ms,
    )


def _describe(trial: TrialReport) -> str:
    subject = "the reference" if trial.fault is None else f"the fault {trial.fault}"
    if trial.problem is not None:
        return f"{subject}: {trial.problem}"
    if trial.fault is None:
        return f"{subject} passes every case"
    return f"{subject} is found and named, by {_listed(trial.failed_cases)}"


def _listed(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"

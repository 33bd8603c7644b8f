"""Folds the events of a run into its report."""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from retryproof_protocol.messages import AdapterIdentity, Observation

from .. import __version__
from ..contract.bundle import Bundle, Case
from ..contract.diagnosis import ObservedCase, diagnose, resembling_faults
from ..contract.differences import classify, differences
from ..events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Event,
    Failure,
    Load,
    RunEnded,
    RunStarted,
)
from .exit_status import exit_status_of
from .report import (
    CaseReport,
    CaseVerdict,
    Counts,
    Deviation,
    Evidence,
    Latency,
    Report,
    ReportedAdapter,
    ReportedContract,
    Resources,
    StepReport,
    Verdict,
)

STANDARD_CALL_TIMEOUT_SECONDS = 2.0


class _CaseLog(Struct):
    """What the events have said about one case."""

    case: Case
    observed: list[tuple[Observation, float]] = field(default_factory=list)
    failure: Failure | None = None

    @property
    def observations(self) -> ObservedCase:
        return ObservedCase(self.case, tuple(observation for observation, _ in self.observed))


class Summary:
    """A sink that remembers what the report needs. Ask for the report when the run has ended."""

    def __init__(self, bundle: Bundle, evidence: Evidence, platform: dict[str, str]) -> None:
        self._bundle = bundle
        self._evidence = evidence
        self._platform = platform
        self._started: RunStarted | None = None
        self._logs: dict[str, _CaseLog] = {}
        self._current: _CaseLog | None = None
        self._launches: list[AdapterLaunched] = []
        self._initialized: AdapterInitialized | None = None
        self._departures: list[AdapterGone] = []
        self._calls = 0
        self._latencies_ms: list[float] = []
        self._overshoots_ms: list[float] = []
        self._ended: RunEnded | None = None

    def __call__(self, event: Event) -> None:
        """Takes the next event."""
        match event:
            case RunStarted():
                self._started = event
                self._logs = {case.name: _CaseLog(case) for case in event.cases}
            case CaseStarted(case=name):
                self._current = self._logs[name]
            case CallStarted(call=call) if call.method != "initialize":
                self._calls += 1
            case CallReturned():
                self._take_answer(event)
            case CallFailed(failure=failure):
                self._take_failure(failure)
            case AdapterLaunched():
                self._launches.append(event)
            case AdapterInitialized():
                self._initialized = event
            case AdapterGone():
                self._departures.append(event)
            case RunEnded():
                self._ended = event

    def report(self) -> Report:
        """The report of the run.

        Raises:
            ValueError: the run has not started or not ended.
        """
        if self._started is None or self._ended is None:
            raise ValueError("the run has not ended")
        cases = tuple(_report_case(log) for log in self._logs.values())
        counts = _count(cases)
        verdict = _verdict_of(counts)
        interrupted_by = self._ended.interrupted_by
        return Report(
            schema="retryproof.report/1",
            evidence=self._evidence,
            not_covered=self._bundle.not_covered,
            contract=ReportedContract(
                self._started.contract.name,
                self._started.contract.version,
                self._started.contract_digest,
            ),
            deviations=_deviations(self._started),
            verdict=verdict,
            exit_status=exit_status_of(verdict, interrupted_by),
            interrupted_by=interrupted_by,
            adapter=_report_adapter(self._started, self._initialized),
            containment=self._launches[-1].containment if self._launches else None,
            limits=self._started.limits,
            counts=counts,
            cases=cases,
            diagnosis=diagnose(self._bundle, [log.observations for log in self._logs.values()]),
            warnings=tuple(warning for gone in self._departures for warning in gone.warnings),
            stderr_tail="".join(gone.stderr_tail for gone in self._departures[-1:]),
            resources=self._report_resources(self._started.load, self._ended.load),
            started_at=self._started.started_at,
            elapsed_ms=_rounded(self._ended.at * 1000),
            retryproof=__version__,
            platform=self._platform,
        )

    def _take_answer(self, event: CallReturned) -> None:
        if event.call.method == "initialize":
            return
        self._latencies_ms.append(event.elapsed_seconds * 1000)
        if event.observation is not None and self._current is not None:
            self._current.observed.append((event.observation, event.elapsed_seconds * 1000))

    def _take_failure(self, failure: Failure) -> None:
        if failure.kind == "timeout" and self._started is not None:
            limit_ms = self._started.limits.call_seconds * 1000
            self._overshoots_ms.append(_rounded(failure.elapsed_ms - limit_ms))
        if failure.call.method == "initialize":
            # It counts against the first case that was still to be run.
            self._current = self._first_unstarted()
        if self._current is not None:
            self._current.failure = failure

    def _first_unstarted(self) -> _CaseLog | None:
        logs = list(self._logs.values())
        done = -1 if self._current is None else logs.index(self._current)
        return logs[done + 1] if done + 1 < len(logs) else self._current

    def _report_resources(self, load_before: Load, load_after: Load) -> Resources:
        return Resources(
            calls=self._calls,
            latency_ms=_percentiles(self._latencies_ms),
            peak_rss_bytes=max((gone.peak_rss_bytes for gone in self._departures), default=0),
            cpu_seconds=_rounded(sum(gone.cpu_seconds for gone in self._departures)),
            processes_spawned=len(self._launches),
            processes_leaked=sum(gone.strays for gone in self._departures),
            overshoot_ms=max(self._overshoots_ms, default=None),
            load_before=load_before,
            load_after=load_after,
        )


def _report_case(log: _CaseLog) -> CaseReport:
    steps = tuple(_report_steps(log))
    return CaseReport(
        name=log.case.name,
        title=log.case.title,
        promise=log.case.promise,
        verdict=_case_verdict(log, steps),
        steps=steps,
        failure=log.failure,
        resembles=resembling_faults(log.observations),
    )


def _case_verdict(log: _CaseLog, steps: Sequence[StepReport]) -> CaseVerdict:
    if log.failure is not None:
        return "incomplete"
    if len(log.observed) < len(steps):
        return "not-run"
    return "fail" if any(step.differences for step in steps) else "pass"


def _report_steps(log: _CaseLog) -> Iterable[StepReport]:
    for index, (operation, expected) in enumerate(
        zip(log.case.steps, log.case.expected, strict=True)
    ):
        if index >= len(log.observed):
            yield StepReport(operation, expected, None, (), None, None)
            continue
        actual, elapsed_ms = log.observed[index]
        found = differences(expected, actual)
        yield StepReport(operation, expected, actual, found, classify(found), _rounded(elapsed_ms))


def _count(cases: Sequence[CaseReport]) -> Counts:
    verdicts = [case.verdict for case in cases]
    return Counts(
        planned=len(cases),
        passed=verdicts.count("pass"),
        failed=verdicts.count("fail"),
        incomplete=verdicts.count("incomplete"),
        not_run=verdicts.count("not-run"),
    )


def _verdict_of(counts: Counts) -> Verdict:
    if counts.incomplete or counts.not_run:
        return "incomplete"
    return "fail" if counts.failed else "pass"


def _report_adapter(started: RunStarted, initialized: AdapterInitialized | None) -> ReportedAdapter:
    identity = AdapterIdentity("") if initialized is None else initialized.adapter
    return ReportedAdapter(
        command=started.adapter.command,
        host=started.adapter.host,
        cwd=started.adapter.cwd,
        added_environment=started.adapter.added_environment,
        sandbox=started.adapter.sandbox,
        name=identity.name or None,
        version=identity.version,
        language=identity.language,
        protocol_version=None if initialized is None else initialized.protocol_version,
        seconds_per_tick=None if initialized is None else initialized.seconds_per_tick,
    )


def _deviations(started: RunStarted) -> tuple[Deviation, ...]:
    seconds = started.limits.call_seconds
    if seconds == STANDARD_CALL_TIMEOUT_SECONDS:
        return ()
    return (Deviation("callTimeoutSeconds", seconds, STANDARD_CALL_TIMEOUT_SECONDS),)


def _percentiles(latencies_ms: Sequence[float]) -> Latency | None:
    if not latencies_ms:
        return None
    ordered = sorted(latencies_ms)
    return Latency(
        p50=_rounded(_nearest_rank(ordered, 0.50)),
        p99=_rounded(_nearest_rank(ordered, 0.99)),
        max=_rounded(ordered[-1]),
    )


def _nearest_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[math.ceil(share * len(ordered)) - 1]


def _rounded(value: float) -> float:
    """To a thousandth: of a millisecond, or of a second. More digits would be noise."""
    return round(value, 3)

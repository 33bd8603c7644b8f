"""What the reports of all suites are made from: the events of a run, sorted by case and counted."""

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from ..contract.profile import SEED, Profile
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
from .parts import deviations, percentiles, report_adapter, rounded, verdict_of
from .report import (
    CaseVerdict,
    Counts,
    ReportedContract,
    Resources,
    RunReport,
)


class PlannedCase(Protocol):
    """A case of any suite."""

    @property
    def name(self) -> str:
        """What the case is called."""


_Case = TypeVar("_Case", bound=PlannedCase)
_Answer = TypeVar("_Answer")
_Report = TypeVar("_Report", bound=RunReport[Any])


class CaseLog(Struct, Generic[_Case, _Answer]):
    """What the events have said about one case: its answers, each with its milliseconds."""

    case: _Case
    answers: list[tuple[_Answer, float]] = field(default_factory=list)
    failure: Failure | None = None

    def verdict(self, expected_answers: int, *, differs: bool) -> CaseVerdict:
        """What the case comes to."""
        if self.failure is not None:
            return "incomplete"
        if len(self.answers) < expected_answers:
            return "not-run"
        return "fail" if differs else "pass"


class RunLog(ABC, Generic[_Case, _Answer]):
    """A sink that remembers what a report needs."""

    def __init__(self) -> None:
        self.logs: dict[str, CaseLog[_Case, _Answer]] = {}
        self._started: RunStarted[_Case] | None = None
        self._current: CaseLog[_Case, _Answer] | None = None
        self._launches: list[AdapterLaunched] = []
        self._initialized: AdapterInitialized | None = None
        self._departures: list[AdapterGone] = []
        self._calls = 0
        self._latencies_ms: list[float] = []
        self._overshoots_ms: list[float] = []
        self._ended: RunEnded | None = None

    @property
    def profile(self) -> Profile:
        """The dialect that was declared."""
        return SEED if self._started is None else self._started.profile

    @abstractmethod
    def answer_in(self, event: CallReturned) -> _Answer | None:
        """What an answer says, if that belongs into the case's log."""

    def __call__(self, event: Event) -> None:
        """Takes the next event."""
        match event:
            case RunStarted():
                self._started = event
                self.logs = {case.name: CaseLog(case) for case in event.cases}
            case CaseStarted(case=name):
                self._current = self.logs[name]
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

    def complete(self, kind: type[_Report], counts: Counts, **own: Any) -> _Report:
        """A report of that kind: its own parts, and all that every report has.

        Raises:
            ValueError: the run has not started or not ended.
        """
        if self._started is None or self._ended is None:
            raise ValueError("the run has not ended")
        verdict = verdict_of(counts)
        interrupted_by = self._ended.interrupted_by
        return kind(
            evidence=self._started.evidence,
            contract=ReportedContract(
                self._started.contract.name,
                self._started.contract.version,
                self._started.contract_digest,
            ),
            profile=self.profile.name,
            deviations=tuple(deviations(self._started)),
            verdict=verdict,
            exit_status=exit_status_of(verdict, interrupted_by),
            interrupted_by=interrupted_by,
            adapter=report_adapter(self._started, self._initialized),
            containment=self._launches[-1].containment if self._launches else None,
            limits=self._started.limits,
            counts=counts,
            warnings=tuple(warning for gone in self._departures for warning in gone.warnings),
            stderr_tail="".join(gone.stderr_tail for gone in self._departures[-1:]),
            resources=self._report_resources(self._started.load, self._ended.load),
            started_at=self._started.started_at,
            elapsed_ms=rounded(self._ended.at * 1000),
            retryproof=self._started.retryproof,
            platform=self._started.platform,
            **own,
        )

    def _take_answer(self, event: CallReturned) -> None:
        if event.call.method == "initialize":
            return
        self._latencies_ms.append(event.elapsed_seconds * 1000)
        answer = self.answer_in(event)
        if answer is not None and self._current is not None:
            self._current.answers.append((answer, event.elapsed_seconds * 1000))

    def _take_failure(self, failure: Failure) -> None:
        if failure.kind == "timeout" and self._started is not None:
            limit_ms = self._started.limits.call_seconds * 1000
            self._overshoots_ms.append(rounded(failure.elapsed_ms - limit_ms))
        if failure.call.method == "initialize":
            # It counts against the first case that was still to be run.
            self._current = self._first_unstarted()
        if self._current is not None:
            self._current.failure = failure

    def _first_unstarted(self) -> CaseLog[_Case, _Answer] | None:
        logs = list(self.logs.values())
        done = -1 if self._current is None else logs.index(self._current)
        return logs[done + 1] if done + 1 < len(logs) else self._current

    def _report_resources(self, load_before: Load, load_after: Load) -> Resources:
        return Resources(
            calls=self._calls,
            latency_ms=percentiles(self._latencies_ms),
            peak_rss_bytes=max((gone.peak_rss_bytes for gone in self._departures), default=0),
            cpu_seconds=rounded(sum((gone.cpu_seconds for gone in self._departures), 0.0)),
            processes_spawned=len(self._launches),
            processes_leaked=sum(gone.strays for gone in self._departures),
            overshoot_ms=max(self._overshoots_ms, default=None),
            load_before=load_before,
            load_after=load_after,
        )

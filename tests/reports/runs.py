"""Events as the runner emits them, without a runner: for tests of what is made from them.

Time is made up: each call takes a millisecond longer than the one before.
"""

from collections.abc import Sequence

from retryproof import __version__
from retryproof.contract.bundle import Case
from retryproof.contract.model import REFERENCE, faulty
from retryproof.errors import FailureKind
from retryproof.events import (
    AdapterDescription,
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    Call,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Event,
    Evidence,
    Failure,
    LimitsDescription,
    Load,
    RunEnded,
    RunStarted,
)
from retryproof.reports.report import Report
from retryproof.reports.summary import Summary
from retryproof_protocol.messages import AdapterIdentity, Observation

from tests.bundle import BUNDLE

PLATFORM = {"system": "Linux", "release": "6.1", "machine": "x86_64", "python": "3.13.0"}
MODULE = ("python3", "host.py", "/project/adapter.py")
DEFAULT_IDENTITY = AdapterIdentity("shop", "2.1", "Python")
LOAD = Load(average=0.25, processors=2)
DEFINITE_KINDS = {"launch", "version"}


def adapter(*command: str, host: str | None = None, cwd: str = "/project") -> AdapterDescription:
    return AdapterDescription(command, host, cwd, added_environment=("API_KEY",), sandbox=None)


MODULE_ADAPTER = adapter(*MODULE, host="python")


def limits(call_seconds: float) -> LimitsDescription:
    return LimitsDescription(
        startup_seconds=30.0,
        call_seconds=call_seconds,
        memory_bytes=2**30,
        processes=64,
        output_bytes=2**30,
        open_files=256,
    )


class ScriptedRun:
    """A run that goes as the test says; `report` folds its events."""

    def __init__(
        self,
        cases: Sequence[Case] = BUNDLE.cases,
        *,
        call_seconds: float = 2.0,
        adapter: AdapterDescription = MODULE_ADAPTER,
        evidence: Evidence = "adapter",
    ) -> None:
        self.events: list[Event] = []
        self._now = 0.0
        self._calls = 0
        self.events.append(
            RunStarted(
                at=0.0,
                started_at="2030-01-02T03:04:05.678+00:00",
                contract=BUNDLE.reference,
                contract_digest=BUNDLE.digest,
                cases=tuple(cases),
                adapter=adapter,
                limits=limits(call_seconds),
                load=LOAD,
                evidence=evidence,
                retryproof=__version__,
                platform=PLATFORM,
            )
        )

    def launch(
        self,
        identity: AdapterIdentity = DEFAULT_IDENTITY,
        seconds_per_tick: float | None = None,
    ) -> None:
        call = Call("initialize")
        self._add(CallStarted(self._now, call))
        self._add(AdapterLaunched(self._now, "guard"))
        self._returned(call)
        self._add(AdapterInitialized(self._now, identity, 1, seconds_per_tick))

    def launch_fails(
        self,
        kind: FailureKind = "launch",
        message: str = "It failed.",
        advice: str = "",
        *,
        process: bool = False,
    ) -> None:
        """With `process`, it was started at least."""
        call = Call("initialize")
        self._add(CallStarted(self._now, call))
        if process:
            self._add(AdapterLaunched(self._now, "guard"))
        self._fail(call, kind, message, advice)
        if process:
            self.gone()

    def case(self, case: Case, observations: Sequence[Observation]) -> None:
        """As far as there are observations: all of the case, unless a failure follows."""
        self._add(CaseStarted(self._now, case.name))
        self._call(Call("reset"))
        for index, observation in enumerate(observations):
            self._call(Call("step", index), observation)

    def case_fails_at(
        self,
        case: Case,
        observations: Sequence[Observation],
        kind: FailureKind,
        message: str = "It failed.",
        advice: str = "",
        *,
        at_reset: bool = False,
    ) -> None:
        """The call after the observations has no usable answer, and the adapter is gone."""
        if at_reset:
            self._add(CaseStarted(self._now, case.name))
            call = Call("reset")
        else:
            self.case(case, observations)
            call = Call("step", len(observations))
        self._add(CallStarted(self._now, call))
        self._fail(call, kind, message, advice)
        self.gone(status=-9)

    def gone(
        self,
        *,
        status: int | None = 0,
        strays: int = 0,
        stderr_tail: str = "",
        warnings: tuple[str, ...] = (),
    ) -> None:
        self._add(
            AdapterGone(
                at=self._now,
                status=status,
                strays=strays,
                stray_commands=("sleep",) * strays,
                cpu_seconds=0.25,
                peak_rss_bytes=20 * 1024 * 1024,
                stderr_tail=stderr_tail,
                warnings=warnings,
            )
        )

    def shut_down(self, warnings: tuple[str, ...] = ()) -> None:
        self.gone(warnings=warnings)

    def report(self, interrupted_by: str | None = None) -> Report:
        summary = Summary(BUNDLE)
        for event in (*self.events, RunEnded(self._now, LOAD, interrupted_by)):
            summary(event)
        return summary.report()

    def _call(self, call: Call, observation: Observation | None = None) -> None:
        self._add(CallStarted(self._now, call))
        self._returned(call, observation)

    def _returned(self, call: Call, observation: Observation | None = None) -> None:
        self._calls += 1
        elapsed_seconds = self._calls / 1000
        self._now += elapsed_seconds
        self._add(CallReturned(self._now, call, elapsed_seconds, observation))

    def _fail(self, call: Call, kind: FailureKind, message: str, advice: str = "") -> None:
        self._now += 2.0
        failure = Failure(kind, call, message, advice, kind in DEFINITE_KINDS, 2000.0)
        self._add(CallFailed(self._now, failure))

    def _add(self, event: Event) -> None:
        self.events.append(event)


def complete_run(
    fault: str | None = None, cases: Sequence[Case] = BUNDLE.cases, evidence: Evidence = "adapter"
) -> Report:
    """The report on an adapter that behaves like the reference, or like a fault."""
    model = REFERENCE if fault is None else faulty(fault)
    run = ScriptedRun(cases, evidence=evidence)
    run.launch()
    for case in cases:
        run.case(case, model.trace(case.steps))
    run.shut_down()
    return run.report()

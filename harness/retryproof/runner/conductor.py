"""Does what the policy decides, one action at a time, and tells the sink what happened.

Everything here blocks, and runs in a worker thread; each wait ends at its deadline or when the
run's cancel token is used.
"""

import time
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeVar, TypeVarTuple

from msgspec import Struct
from retryproof_protocol.messages import ContractReference, Observation

from ..clock import RunClock
from ..errors import AdapterError
from ..events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    Call,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Evaluated,
    Failure,
    Sink,
    WaitStarted,
)
from ..supervise.channel import CancelledError, CancelToken
from ..supervise.failures import printable_tail
from ..supervise.guard import Command, Guard
from ..supervise.limits import Limits
from ..supervise.session import Session, WireSink

_Asked = TypeVarTuple("_Asked")
_Answer = TypeVar("_Answer")


class CaseFailedError(Exception):
    """A call had no usable answer. It was reported, and the adapter is gone."""


class Plan(Struct, frozen=True):
    """Everything that a run needs to know about its adapter and its limits."""

    contract: ContractReference
    command: Command
    limits: Limits


class Script(Protocol):
    """A case, as the calls that it consists of."""

    @property
    def name(self) -> str:
        """What the case is called."""

    def run(self, stage: "Conductor") -> None:
        """Makes the calls through the conductor.

        Raises:
            CaseFailedError: one of them broke the case off.
        """


class Conductor:
    """One run's adapter processes, one at a time.

    Attributes:
        seconds_per_tick: how long a tick takes in real time, if the adapter has said so.
    """

    def __init__(
        self,
        plan: Plan,
        cancel: CancelToken,
        emit: Sink,
        clock: RunClock,
        on_wire: WireSink | None = None,
    ) -> None:
        self._plan = plan
        self._cancel = cancel
        self._emit = emit
        self._now = clock.elapsed
        self._on_wire = on_wire
        self._guard = Guard()
        self._session: Session | None = None
        self.seconds_per_tick: float | None = None

    def launch(self) -> None:
        """Starts an adapter process and greets it.

        Raises:
            CaseFailedError: it could not be started, or did not answer well.
        """
        call = Call("initialize")
        self._emit(CallStarted(self._now(), call))
        started = time.monotonic()
        try:
            session = Session(
                self._guard, self._plan.command, self._plan.limits, self._cancel, self._on_wire
            )
        except AdapterError as error:
            self._report_failure(call, error, time.monotonic() - started)
        self._session = session
        self._emit(AdapterLaunched(self._now(), self._guard.containment))
        result = self._call(call, session.initialize, self._plan.contract)
        clock = result.capabilities.clock
        self.seconds_per_tick = None if clock is None else clock.seconds_per_tick
        self._emit(CallReturned(self._now(), call, session.call_seconds))
        self._emit(
            AdapterInitialized(
                self._now(), result.adapter, result.protocol_version, self.seconds_per_tick
            )
        )

    def run_case(self, case: Script) -> None:
        """Runs one case in the adapter process that is there.

        Raises:
            CaseFailedError: it was broken off.
        """
        self._emit(CaseStarted(self._now(), case.name))
        case.run(self)

    def ask(self, call: Call, ask: Callable[[*_Asked], _Answer], *asked: *_Asked) -> _Answer:
        """Makes a call of the running case, by a method of `session`.

        Raises:
            CaseFailedError: there was no usable answer.
        """
        self._emit(CallStarted(self._now(), call))
        return self._call(call, ask, *asked)

    def tell(
        self,
        call: Call,
        observation: Observation | None = None,
        evaluation: Evaluated | None = None,
    ) -> None:
        """Reports the answer to the call that was made last."""
        elapsed_seconds = self.session.call_seconds
        self._emit(CallReturned(self._now(), call, elapsed_seconds, observation, evaluation))

    def wait(self, call: Call, moment: float) -> None:
        """Waits before a call, until a moment of `time.monotonic`. Raises as `ask` does."""
        remaining_seconds = moment - time.monotonic()
        if remaining_seconds > 0:
            self._emit(WaitStarted(self._now(), remaining_seconds))
            self._call(call, self.session.wait_until, moment, is_sent=False)

    @property
    def session(self) -> Session:
        """The conversation with the adapter process that is there."""
        if self._session is None:
            raise RuntimeError("no adapter process is running")
        return self._session

    def shut_down(self) -> None:
        """Tells the adapter to leave; it is gone afterwards."""
        session = self.session
        warnings = session.shut_down()
        self._report_gone(session, warnings)

    def close(self) -> None:
        """Kills what is still running, and ends the guard."""
        if self._session is not None:
            self._report_gone(self._session, ())
        self._guard.close()

    def _call(
        self,
        call: Call,
        ask: Callable[[*_Asked], _Answer],
        *asked: *_Asked,
        is_sent: bool = True,
    ) -> _Answer:
        try:
            return ask(*asked)
        except AdapterError as error:
            self._report_failure(call, error, self.session.call_seconds)
        except CancelledError:
            self._report_interruption(call, is_sent)
            raise

    def _report_failure(self, call: Call, error: AdapterError, elapsed_seconds: float) -> NoReturn:
        failure = Failure(
            error.kind, call, error.message, error.advice, error.definite, elapsed_seconds * 1000
        )
        self._emit(CallFailed(self._now(), failure))
        if self._session is not None:
            self._report_gone(self._session, ())
        raise CaseFailedError from error

    def _report_interruption(self, call: Call, is_sent: bool) -> None:
        elapsed_ms = self.session.call_seconds * 1000
        message = (
            f"The run was interrupted before `{call.method}` was sent; the adapter was killed."
        )
        if is_sent:
            message = (
                f"The run was interrupted while `{call.method}` was pending; the adapter was "
                "killed. Whether this call took effect is unknown."
            )
        failure = Failure("interrupted", call, message, "", not is_sent, elapsed_ms)
        self._emit(CallFailed(self._now(), failure))
        self._report_gone(self.session, ())

    def _report_gone(self, session: Session, warnings: tuple[str, ...]) -> None:
        gone = session.kill()
        self._session = None
        self._emit(
            AdapterGone(
                self._now(),
                gone.status,
                gone.strays,
                gone.stray_commands,
                gone.cpu_seconds,
                gone.peak_rss_bytes,
                printable_tail(session.stderr_tail),
                warnings,
            )
        )

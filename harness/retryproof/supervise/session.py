"""One adapter process and the conversation with it: each call has an answer, or the tree is dead.

A session that has failed is over: the adapter's whole tree was killed before the error was
raised, and whatever it wrote late is in a pipe that nobody reads any more.
"""

import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

from retryproof_protocol import answers
from retryproof_protocol.connection import Connection, EndOfOutput, Event, Refusal, Result
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import (
    PROTOCOL_VERSION,
    ContractReference,
    ErrorObject,
    Evaluation,
    InitializeParams,
    InitializeResult,
    Method,
    Observation,
    Operation,
)

from ..errors import AdapterError, LaunchError
from . import failures
from .channel import CancelledError, CancelToken, Channel, Wake
from .failures import Remains
from .guard import Command, Exceeded, Gone, Guard, GuardLostError, LaunchRefusedError
from .limits import Limits

LEAVE_LIMIT_SECONDS = 1.0
"""From `shutdown` to the kill, from the protocol's specification."""
_EXIT_NOTICE_SECONDS = 1.0
"""A process that has closed its pipes by exiting is reported gone well within this time."""

WireSink: TypeAlias = Callable[[Literal["->", "<-"], bytes], None]
"""Takes each line to (->) and from (<-) the adapter, as it was written."""

_LAST_FLUSH_SECONDS = 0.5
"""A program that leaves at the end of its input flushes its buffers well within this time."""

Outcome: TypeAlias = Event | Wake | RemoteProtocolError
"""What came of a request, or of listening without one."""

_Form = TypeVar("_Form")


class Session:
    """An adapter that was started, and answers until it is stopped or fails.

    Attributes:
        call_seconds: how long the last call took, until its answer or its failure was noticed.
    """

    def __init__(
        self,
        guard: Guard,
        command: Command,
        limits: Limits,
        cancel: CancelToken,
        on_wire: WireSink | None = None,
    ) -> None:
        """Starts the adapter.

        Raises:
            LaunchError: the system would not start it.
        """
        self._guard = guard
        self._limits = limits
        self._on_wire = on_wire
        self._connection = Connection()
        self._channel = Channel(guard.fileno(), cancel, limits.output_bytes)
        self._gone: Gone | None = None
        self.call_seconds = 0.0
        self._launch(command)

    @property
    def stderr_tail(self) -> bytes:
        """The last of what the adapter wrote to stderr."""
        return self._channel.stderr_tail

    def initialize(self, contract: ContractReference) -> InitializeResult:
        """Greets the adapter and learns who it is.

        Raises:
            AdapterError: it did not answer, not in form, or speaks another version.
            CancelledError: the run was cancelled; the adapter is gone.
        """
        params = InitializeParams(contract, call_timeout_ms=round(self._limits.call_seconds * 1000))
        result = self._call("initialize", params, self._limits.startup_seconds)
        initialized = self._in_form(answers.parse_initialize_result, result)
        if initialized.protocol_version != PROTOCOL_VERSION:
            self.kill()
            raise failures.other_version(initialized.protocol_version)
        return initialized

    def reset(self) -> None:
        """Tells the adapter to begin a new case. Raises as `step` does."""
        self._call("reset", {}, self._limits.call_seconds)

    def step(self, operation: Operation) -> Observation:
        """Has the adapter do one operation.

        Raises:
            AdapterError: there was no usable answer in time; the adapter is gone.
            CancelledError: the run was cancelled; the adapter is gone.
        """
        result = self._call("step", operation, self._limits.call_seconds)
        return self._in_form(answers.parse_observation, result)

    def evaluate(self, value: Any) -> Evaluation | ErrorObject:
        """Has the adapter judge one input; an error is its way to refuse it. Raises as `step`."""
        limit_seconds = self._limits.call_seconds
        outcome = self.exchange("evaluate", value, limit_seconds)
        if isinstance(outcome, Refusal):
            return outcome.error
        if isinstance(outcome, Result):
            return self._in_form(answers.parse_evaluation, outcome)
        raise self.failure("evaluate", outcome, limit_seconds)

    def wait_until(self, moment: float) -> None:
        """Waits, outside every call's limit, and notices when the adapter misbehaves meanwhile.

        `moment` is a time of `time.monotonic`. Raises as `step` does.
        """
        started = time.monotonic()
        outcome = self.listen(moment)
        self.call_seconds = time.monotonic() - started
        if outcome is not Wake.DEADLINE:
            raise self.failure(None, outcome, 0)

    def exchange(self, method: Method, params: Any, limit_seconds: float) -> Outcome:
        """Sends a request and listens for its answer. Judges nothing, and kills nothing.

        Raises:
            CancelledError: the run was cancelled; the adapter is gone.
        """
        started = time.monotonic()
        try:
            if self._write(method, params):
                return self.listen(started + limit_seconds)
            # What it wrote before it closed its stdin says more than that it did.
            outcome = self.listen(started + min(limit_seconds, _EXIT_NOTICE_SECONDS))
            return Wake.STDIN_CLOSED if outcome is Wake.DEADLINE else outcome
        finally:
            self.call_seconds = time.monotonic() - started

    def listen(self, deadline: float) -> Outcome:
        """Reads until the adapter has said something whole, or can't any more.

        `deadline` is a time of `time.monotonic`; one that has passed means a brief look. After
        anything but an answer or `Wake.DEADLINE` there is nothing more to listen to.

        Raises:
            CancelledError: the run was cancelled; the adapter is gone.
        """
        try:
            while (event := self._connection.next_event()) is None:
                is_last_look = time.monotonic() >= deadline
                read = self._channel.read(deadline)
                if isinstance(read, Wake):
                    return read
                self._take(read)
                if is_last_look:
                    return self._connection.next_event() or Wake.DEADLINE
        except RemoteProtocolError as error:
            return error
        except CancelledError:
            self.kill()
            raise
        return event

    def end_input(self) -> None:
        """Closes the adapter's stdin."""
        self._channel.end_stdin()

    def wait_gone(self, deadline: float) -> bool:
        """Discards output until the adapter is gone by itself; False if the deadline came first.

        `deadline` is a time of `time.monotonic`. Raises as `listen` does.
        """
        try:
            return self._channel.wait_gone(deadline)
        except CancelledError:
            self.kill()
            raise

    def answers_at_last(self) -> bool:
        """Whether an answer comes once stdin is closed: it was in a buffer all the time."""
        self.end_input()
        return isinstance(self.listen(time.monotonic() + _LAST_FLUSH_SECONDS), Result)

    def shut_down(self) -> tuple[str, ...]:
        """Tells the adapter to leave, and sees to it; warnings if it did not leave well.

        Raises:
            CancelledError: the run was cancelled; the adapter is gone.
        """
        deadline = time.monotonic() + LEAVE_LIMIT_SECONDS
        try:
            self._write("shutdown", {})
            self._channel.end_stdin()
            left = self._channel.wait_gone(deadline)
        except CancelledError:
            self.kill()
            raise
        gone = self.kill()
        if left:
            return failures.left_badly(gone)
        return (failures.had_to_be_killed(LEAVE_LIMIT_SECONDS, gone),)

    def failure(
        self, method: Method | None, outcome: Outcome, limit_seconds: float
    ) -> AdapterError:
        """Kills the tree, and tells what the outcome means for the pending call, if any."""
        if method == "initialize" and outcome is Wake.DEADLINE and self.answers_at_last():
            self.kill()
            return failures.flushed_too_late(limit_seconds)
        has_ended = outcome is Wake.GONE or (self._may_be_ending(outcome) and self._ends_now())
        remains = self.remains()
        exceeded = remains.gone.exceeded
        if outcome is Wake.TOO_MUCH_OUTPUT:
            exceeded = Exceeded("output", self._channel.output_bytes, self._limits.output_bytes)
        if exceeded is not None:
            return failures.over_limit(method, exceeded, remains)
        if outcome is Wake.DEADLINE and method is not None:
            return failures.not_in_time(method, limit_seconds, remains)
        if isinstance(outcome, RemoteProtocolError):
            return failures.malformed(outcome, remains, has_ended)
        if isinstance(outcome, Refusal) and method is not None:
            return failures.refused(method, outcome.error)
        if has_ended:
            return failures.crashed(method, remains)
        pipe = "stdout" if isinstance(outcome, EndOfOutput) else "stdin"
        return failures.closed_a_pipe(pipe, method, remains)

    def kill(self) -> Gone:
        """Kills the whole tree at once, unless it is gone already."""
        if self._gone is None:
            self._gone = self._guard.clear()
            self._channel.close()
        return self._gone

    def remains(self) -> Remains:
        """Kills the whole tree, unless it is gone already, and tells what is known of it."""
        gone = self.kill()
        return Remains(gone, self.stderr_tail, self._connection.unfinished)

    def _launch(self, command: Command) -> None:
        try:
            self._guard.launch(command, self._channel.adapter_ends, self._limits)
        except LaunchRefusedError as refusal:
            self._channel.close()
            raise failures.not_launched(refusal, command) from None
        except GuardLostError:
            self.kill()
            raise LaunchError("The guard process that contains the adapter ended.") from None
        finally:
            self._channel.close_adapter_ends()

    def _call(self, method: Method, params: Any, limit_seconds: float) -> Result:
        outcome = self.exchange(method, params, limit_seconds)
        if isinstance(outcome, Result):
            return outcome
        raise self.failure(method, outcome, limit_seconds)

    def _write(self, method: Method, params: Any) -> bool:
        request = self._connection.send(method, params)
        if self._on_wire is not None:
            self._on_wire("->", request)
        return self._channel.write(request)

    def _take(self, data: bytes) -> None:
        if self._on_wire is not None and data:
            self._on_wire("<-", data)
        self._connection.receive(data)

    def _may_be_ending(self, outcome: Outcome) -> bool:
        is_mid_line = isinstance(outcome, RemoteProtocolError) and (
            outcome.rule == "ended-in-mid-line"
        )
        return is_mid_line or isinstance(outcome, EndOfOutput) or outcome is Wake.STDIN_CLOSED

    def _ends_now(self) -> bool:
        """Whether a pipe was closed because the process is exiting."""
        return self.wait_gone(time.monotonic() + _EXIT_NOTICE_SECONDS)

    def _in_form(self, parse: Callable[[Any, bytes], _Form], result: Result) -> _Form:
        try:
            return parse(result.value, result.line)
        except RemoteProtocolError as error:
            raise failures.malformed(error, self.remains()) from None

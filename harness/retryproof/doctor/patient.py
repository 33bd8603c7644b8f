"""One process of the adapter, and a conversation with it that looks closer than a run does."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from retryproof_protocol import answers
from retryproof_protocol.connection import Refusal, Result
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import (
    PROTOCOL_VERSION,
    ContractReference,
    InitializeParams,
    Method,
    Observation,
    Operation,
)

from ..errors import AdapterError
from ..supervise import failures
from ..supervise.channel import CancelToken, Wake
from ..supervise.guard import Guard
from ..supervise.launch import Launch
from ..supervise.limits import Limits
from ..supervise.session import LEAVE_LIMIT_SECONDS, Outcome, Session, WireSink
from .ailment import Ailments, of_a_start
from .findings import Answer, Conversation, Leaving, Trouble
from .incoming import Incoming

PATIENCE = 3
"""How many times a call's limit is waited for its answer: a slow one is measured, not cut off."""

_QUIET_SECONDS = 0.1
"""How long an idle adapter is listened to for what it prints unasked."""

Progress: TypeAlias = Callable[[str], None]
"""Told what is being waited for, before each wait."""

_Form = TypeVar("_Form")


class UnwellError(Exception):
    """The conversation can't go on."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.seen)
        self.trouble = trouble


class HesitantError(Exception):
    """`initialize` was not answered for a while: a slow start, or an answer in a buffer.

    Attributes:
        seconds: from launch to the answer that came once the input was closed, if one did.
    """

    def __init__(self, seconds: float | None) -> None:
        super().__init__("no answer yet")
        self.seconds = seconds


class Setting(Struct, frozen=True):
    """What every process of an examination has in common."""

    guard: Guard
    launch: Launch
    contract: ContractReference
    limits: Limits
    cancel: CancelToken
    tell: Progress
    on_wire: WireSink | None = None


class Patient:
    """A running adapter. What it does is noted in `notes`.

    Every method raises:
        UnwellError: what the adapter did ends the conversation.
        CancelledError: the examination was cancelled; the adapter is gone.
    """

    def __init__(self, setting: Setting, notes: Conversation) -> None:
        self._setting = setting
        self._notes = notes
        self._over: Outcome | None = None
        self._last_method: Method = "initialize"
        self._place = ""
        self._incoming = Incoming(setting.on_wire)
        self._started = time.monotonic()
        setting.tell("the start")
        try:
            self._session = Session(
                setting.guard,
                setting.launch.command,
                setting.limits,
                setting.cancel,
                self._incoming,
            )
        except AdapterError as error:
            elapsed_seconds = time.monotonic() - self._started
            raise UnwellError(of_a_start(error, setting.launch, elapsed_seconds)) from None
        self._ailments = Ailments(self._session, self._incoming, setting.launch)
        notes.was_launched = True

    def greet(self, look_seconds: float, is_last_look: bool) -> None:
        """Has the adapter say who it is.

        Raises:
            HesitantError: it did not within `look_seconds`, and this is not the last look.
        """
        limits = self._setting.limits
        params = InitializeParams(
            self._setting.contract, call_timeout_ms=round(limits.call_seconds * 1000)
        )
        self._setting.tell("the answer to `initialize`")
        outcome = self._session.exchange("initialize", params, look_seconds)
        if outcome is Wake.DEADLINE and not is_last_look:
            look_seconds = limits.startup_seconds
            self._session.end_input()
            outcome = self._session.listen(self._started + look_seconds)
            if outcome is not Wake.DEADLINE:
                seconds = time.monotonic() - self._started
                self._session.wait_gone(time.monotonic() + LEAVE_LIMIT_SECONDS)
                raise HesitantError(seconds if isinstance(outcome, Result) else None)
        answer = self._take("initialize", outcome, look_seconds)
        self._notes.startup_seconds = time.monotonic() - self._started
        result = self._in_form(answers.parse_initialize_result, answer)
        if result.protocol_version != PROTOCOL_VERSION:
            error = failures.other_version(result.protocol_version)
            raise UnwellError(Trouble("initialize", error.message, error.advice))
        self._notes.identity = result.adapter

    def go_through(self, operations: tuple[Operation, ...]) -> None:
        """One round: a `reset`, and then each operation."""
        limit_seconds = PATIENCE * self._setting.limits.call_seconds
        number = len(self._notes.rounds) + 1
        in_round = "" if number == 1 else f" in round {number}"
        self._place = f"`reset`{in_round}"
        self._ask("reset", {}, limit_seconds)
        observations: list[Observation] = []
        for index, operation in enumerate(operations):
            self._place = f"step {index + 1} of {len(operations)}{in_round}"
            answer = self._ask("step", operation, limit_seconds)
            observations.append(self._in_form(answers.parse_observation, answer))
        self._notes.rounds.append(tuple(observations))
        self._place = ""

    def leave(self) -> None:
        """Gives the adapter the occasion to leave that the notes name, and watches it."""
        self._hear_out(time.monotonic() + _QUIET_SECONDS)
        if self._over is not None:
            raise self._unwell(self._ailments.of_an_early_end(self._last_method, self._over))
        occasion = self._notes.occasion
        self._setting.tell(f"its end, after the {occasion.replace('-', ' ')}")
        started = time.monotonic()
        left = self._leaves_by(started + LEAVE_LIMIT_SECONDS)
        seconds = time.monotonic() - started
        left_late = not left and occasion == "shutdown" and self._leaves_without_input()
        gone = self._session.kill()
        self._notes.leaving = Leaving(
            occasion,
            left,
            left_late,
            seconds,
            gone.status,
            failures.describe_exit(gone),
            gone.strays,
            gone.stray_commands,
        )

    def kill(self) -> None:
        """Kills what is left of it, and notes its last words. Raises nothing."""
        self._session.kill()
        self._notes.stderr_tail = failures.printable_tail(self._session.stderr_tail)

    def _ask(self, method: Method, params: Any, limit_seconds: float) -> Result:
        self._setting.tell(f"the answer to {self._place}")
        outcome = self._over or self._session.exchange(method, params, limit_seconds)
        return self._take(method, outcome, limit_seconds)

    def _take(self, method: Method, outcome: Outcome, limit_seconds: float) -> Result:
        if not isinstance(outcome, Result):
            raise self._unwell(self._ailments.of_a_call(method, outcome, limit_seconds))
        self._incoming.take(outcome.line)
        self._notes.answers.append(Answer(method, self._session.call_seconds))
        self._last_method = method
        self._hear_out(time.monotonic())
        return outcome

    def _hear_out(self, until: float) -> None:
        """Listens to what comes unasked after an answer; an end is kept for what comes next."""
        if self._over is not None:
            return
        outcome = self._session.listen(until)
        if isinstance(outcome, RemoteProtocolError):
            raise self._unwell(self._ailments.of_a_line(self._last_method, outcome))
        if outcome is not Wake.DEADLINE:
            self._over = outcome

    def _in_form(self, parse: Callable[[Any, bytes], _Form], answer: Result) -> _Form:
        try:
            return parse(answer.value, answer.line)
        except RemoteProtocolError as problem:
            raise self._unwell(self._ailments.of_a_line(self._last_method, problem)) from None

    def _unwell(self, trouble: Trouble) -> UnwellError:
        seen = f"At {self._place}: {trouble.seen}" if self._place else trouble.seen
        return UnwellError(replace(trouble, seen=seen))

    def _leaves_by(self, deadline: float) -> bool:
        if self._notes.occasion == "shutdown":
            outcome = self._session.exchange("shutdown", {}, LEAVE_LIMIT_SECONDS)
        else:
            self._session.end_input()
            outcome = self._session.listen(deadline)
        if isinstance(outcome, Result | Refusal):
            self._incoming.take(outcome.line)
            outcome = self._session.listen(deadline)
        if isinstance(outcome, RemoteProtocolError):
            raise self._unwell(self._ailments.of_a_line("shutdown", outcome))
        return outcome is Wake.GONE or (
            outcome is not Wake.DEADLINE and self._session.wait_gone(deadline)
        )

    def _leaves_without_input(self) -> bool:
        self._session.end_input()
        return self._session.wait_gone(time.monotonic() + LEAVE_LIMIT_SECONDS)

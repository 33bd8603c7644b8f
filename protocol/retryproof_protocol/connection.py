"""The runner's end of one conversation: a state machine that does no I/O.

Requests come out as bytes to write; what the adapter wrote goes in as bytes, in pieces of any
size; events come out. After a violation the conversation is broken for good: whatever the
adapter writes later belongs to nobody.
"""

from enum import IntEnum, auto
from typing import Any, TypeAlias

import msgspec

from . import malformed
from .answers import parse_response, parse_step_response
from .errors import LocalProtocolError, RemoteProtocolError
from .framing import LineSplitter, LineTooLongError
from .messages import ErrorObject, Method, Request


class State(IntEnum):
    """Where the conversation stands."""

    IDLE = auto()
    AWAITING = auto()
    ENDED = auto()
    BROKEN = auto()


class Trigger(IntEnum):
    """What can happen to it."""

    REQUEST = auto()
    RESPONSE = auto()
    UNASKED_LINE = auto()
    VIOLATION = auto()
    END_OF_OUTPUT = auto()


TRANSITIONS: dict[tuple[State, Trigger], State] = {
    (State.IDLE, Trigger.REQUEST): State.AWAITING,
    (State.IDLE, Trigger.UNASKED_LINE): State.BROKEN,
    (State.IDLE, Trigger.VIOLATION): State.BROKEN,
    (State.IDLE, Trigger.END_OF_OUTPUT): State.ENDED,
    (State.AWAITING, Trigger.RESPONSE): State.IDLE,
    (State.AWAITING, Trigger.VIOLATION): State.BROKEN,
    (State.AWAITING, Trigger.END_OF_OUTPUT): State.ENDED,
}
"""Every pair that is not here is the caller's mistake."""

_OVER = frozenset({State.ENDED, State.BROKEN})
# Looking up a member of an enumeration costs as much as the rest of a transition.
_AWAITING = State.AWAITING
_REQUEST, _RESPONSE = Trigger.REQUEST, Trigger.RESPONSE


class Result(msgspec.Struct, frozen=True):
    """The pending request was answered. `line` is the answer as it came."""

    value: Any
    line: bytes


class Refusal(msgspec.Struct, frozen=True):
    """The pending request was answered with a JSON-RPC error."""

    error: ErrorObject
    line: bytes


class EndOfOutput(msgspec.Struct, frozen=True):
    """The adapter's stdout ended, after a whole line."""


Event: TypeAlias = Result | Refusal | EndOfOutput


class Connection:
    """One conversation with one adapter process."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._encode = msgspec.json.Encoder().encode
        self._output_ended = False
        self._parse = parse_response
        self.state = State.IDLE
        self.last_id = 0

    def send(self, method: Method, params: Any) -> bytes:
        """The bytes of the next request.

        Raises:
            LocalProtocolError: a request is pending, or the conversation is over.
        """
        self._move(_REQUEST)
        self.last_id += 1
        self._parse = parse_step_response if method == "step" else parse_response
        return self._encode(Request(self.last_id, method, params)) + b"\n"

    def receive(self, data: bytes) -> None:
        """Takes bytes from the adapter's stdout; none at all mean that it has ended."""
        if data:
            self._lines.feed(data)
        else:
            self._output_ended = True

    def next_event(self) -> Event | None:
        """What the bytes so far amount to, or None while more are needed.

        Raises:
            RemoteProtocolError: the adapter broke the protocol; the conversation is over.
            LocalProtocolError: the conversation was over already.
        """
        if self.state in _OVER:
            raise LocalProtocolError(f"the conversation is over ({self.state.name.lower()})")
        try:
            line = self._lines.next_line()
            return self._end_if_output_ended() if line is None else self._answer(line)
        except LineTooLongError as error:
            self._move(Trigger.VIOLATION)
            raise malformed.line_too_long(error.start) from None

    @property
    def unfinished(self) -> bytes:
        """What the adapter has written of a line that has no end yet."""
        return self._lines.unfinished

    def _answer(self, line: bytes) -> Event:
        if self.state is not _AWAITING:
            self._move(Trigger.UNASKED_LINE)
            raise malformed.unasked_line(line)
        try:
            value = self._parse(line, self.last_id)
        except RemoteProtocolError:
            self._move(Trigger.VIOLATION)
            raise
        self._move(_RESPONSE)
        return Refusal(value, line) if isinstance(value, ErrorObject) else Result(value, line)

    def _end_if_output_ended(self) -> EndOfOutput | None:
        if not self._output_ended:
            return None
        if self._lines.unfinished:
            self._move(Trigger.VIOLATION)
            raise malformed.ended_in_mid_line(self._lines.unfinished)
        self._move(Trigger.END_OF_OUTPUT)
        return EndOfOutput()

    def _move(self, trigger: Trigger) -> None:
        try:
            self.state = TRANSITIONS[self.state, trigger]
        except KeyError:
            raise LocalProtocolError(
                f"{trigger.name.lower()} is not possible while {self.state.name.lower()}"
            ) from None

"""Replays what an adapter wrote, in given pieces, against the runner's end of a conversation."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from retryproof_protocol.connection import Connection, Event, Result, State
from retryproof_protocol.errors import RemoteProtocolError


class Violation(Struct, frozen=True):
    """A RemoteProtocolError, as a value that can be compared."""

    rule: str
    message: str
    advice: str


def replay(chunks: Iterable[bytes], requests: int) -> list[Event | Violation]:
    """Everything that the chunks and then the end of output amount to.

    A request is pending from the start, and the next follows each answer, `requests` in all.
    """
    connection = Connection()
    connection.send("reset", {})
    events: list[Event | Violation] = []
    for chunk in (*chunks, b""):
        connection.receive(chunk)
        events.extend(_drain(connection, requests))
    return events


def _drain(connection: Connection, requests: int) -> Iterator[Event | Violation]:
    while connection.state not in {State.ENDED, State.BROKEN}:
        try:
            event = connection.next_event()
        except RemoteProtocolError as error:
            yield Violation(error.rule, error.message, error.advice)
            return
        if event is None:
            return
        yield event
        if connection.state is State.IDLE and connection.last_id < requests:
            connection.send("reset", {})


def answer_to(line: bytes) -> Any:
    """The result in a line that answers request 1."""
    [event, *_] = replay([line + b"\n"], 1)
    assert isinstance(event, Result), event
    return event.value


def violation_of(data: bytes) -> Violation:
    """How `data` breaks the protocol while request 1 is pending and nothing else comes after."""
    violation = replay([data], 1)[-1]
    assert isinstance(violation, Violation), violation
    return violation

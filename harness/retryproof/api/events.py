"""An event as it goes over the wire: its JSON, with no more of a case than its name."""

from typing import Any

import msgspec
from msgspec.structs import replace

from ..events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Event,
    RunEnded,
    RunStarted,
    WaitStarted,
)
from .reading import MalformedBodyError
from .views import NamedCase

_Sent = (
    RunStarted[NamedCase]
    | AdapterLaunched
    | AdapterInitialized
    | CaseStarted
    | WaitStarted
    | CallStarted
    | CallReturned
    | CallFailed
    | AdapterGone
    | RunEnded
)
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Sent)


def encode_event(event: Event) -> bytes:
    """The event as it is sent, and kept."""
    if isinstance(event, RunStarted):
        event = replace(event, cases=tuple(NamedCase(case.name) for case in event.cases))
    return msgspec.json.encode(event)


def read_event(data: bytes | str) -> Event:
    """The event that was sent.

    Raises:
        MalformedBodyError: it is none.
    """
    try:
        event: Event = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise MalformedBodyError("", f"{error}.") from None
    return event

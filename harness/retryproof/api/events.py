"""An event as it goes over the wire: its JSON, with no more of a case than its name."""

from typing import Any

import msgspec

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

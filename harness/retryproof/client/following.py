"""A run's events from its first to its last, whatever becomes of the daemon meanwhile."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ..api.events import read_event
from ..api.reading import MalformedBodyError
from ..api.views import RunView
from ..errors import DaemonAnswerError, LostConnectionError, RetryproofError
from ..events import Event
from .connection import Daemon
from .patience import Patience

if TYPE_CHECKING:
    from .exchange import Message

_END = "end"


class Streamed(Struct, frozen=True):
    """An event of a run, and its JSON as the daemon sent it."""

    event: Event
    content: str


def follow(daemon: Daemon, run: str, patience: Patience) -> Iterator[Streamed | RunView]:
    """Each event once, in order, as it happens; the last thing is the run as it ended.

    A stream that is lost is taken up again where it was.

    Raises:
        DaemonRefusalError: there is no such run.
        RetryproofError: the daemon has been away for longer than the patience lasts.
    """
    last: str | None = None
    while True:
        problem: RetryproofError = LostConnectionError(
            f"The daemon at {daemon.socket} ended the stream before the run.",
            f"Follow it again: retryproof logs -f {run}",
        )
        try:
            with daemon.stream(run, after=last) as messages:
                patience.renew()
                for message in messages:
                    found = _read(message)
                    yield found
                    if isinstance(found, RunView):
                        return
                    last = message.id
        except RetryproofError as error:
            problem = error
        patience.wait(problem)


def look_back(daemon: Daemon, run: str) -> Iterator[Streamed | RunView]:
    """Each event so far; and the run as it ended, if it is over.

    Raises:
        RetryproofError: as the methods of `Daemon`.
    """
    with daemon.stream(run, follows=False) as messages:
        for message in messages:
            yield _read(message)


def _read(message: "Message") -> Streamed | RunView:
    try:
        if message.kind == _END:
            return msgspec.json.decode(message.data, type=RunView)
        return Streamed(read_event(message.data), message.data)
    except (MalformedBodyError, msgspec.DecodeError) as error:
        raise DaemonAnswerError(
            f"The daemon sent an event that is not in form: {error}",
            "Is it a daemon of another version? `retryproof status` tells.",
        ) from None

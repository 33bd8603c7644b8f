"""The events of a run as server-sent events, from any one on, until the run is over.

Source of the format: the HTML standard, section "Server-sent events".
"""

from collections.abc import AsyncIterator

import anyio
import msgspec
from msgspec import Struct

from ..api.views import OVER
from ..store.runs import RunRecord, RunStore
from .engine import Engine
from .views import view_of

HEARTBEAT_SECONDS = 15.0
"""A connection that is silent for longer may be taken for a dead one."""
_MAX_EVENTS = 500
"""At a time: what a follower that is far behind holds in memory."""
_HEARTBEAT = b":\n\n"


class _Tagged(Struct):
    type: str


_tag_decoder = msgspec.json.Decoder(_Tagged)


async def stream(
    engine: Engine, store: RunStore, run: str, after: int, follows: bool
) -> AsyncIterator[bytes]:
    """The events after that number; the last message is `end` with the run, once it is over.

    If the daemon stops, or the stream does not follow the run, it ends without that.
    """
    last = after
    while True:
        news = engine.followers.news_of(run)
        record, events = await engine.in_thread(_read, store, run, last)
        if record is None:
            return
        if events:
            last = events[-1][0]
            yield b"".join(_message(number, content) for number, content in events)
        elif record.state in OVER:
            engine.followers.tell([run])  # Or this look would be remembered for ever.
            yield b"event: end\ndata: %b\n\n" % msgspec.json.encode(view_of(record))
            return
        elif engine.followers.is_closed or not follows:
            return
        else:
            with anyio.move_on_after(HEARTBEAT_SECONDS):
                await news.wait()
            if not news.is_set():
                yield _HEARTBEAT


def _read(
    store: RunStore, run: str, after: int
) -> tuple[RunRecord | None, list[tuple[int, bytes]]]:
    # The state first: a run that is over has no events later than these.
    record = store.get(run)
    return record, [] if record is None else store.events(record, after, _MAX_EVENTS)


def _message(number: int, content: bytes) -> bytes:
    kind = _tag_decoder.decode(content).type.encode()
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (number, kind, content)

"""Ctrl-C and SIGTERM as cancellation, from the first moment of a command to its last line."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import TypeAlias

import anyio

PATIENCE_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Work: TypeAlias = Callable[[], Awaitable[None]]


class Termination(KeyboardInterrupt):
    """SIGTERM, raised as Ctrl-C is."""


def raise_terminations() -> None:
    """Has SIGTERM raise `Termination` in the main thread, from now on. Only to be called there."""
    signal.signal(signal.SIGTERM, _raise_termination)


def _raise_termination(_number: int, _frame: FrameType | None) -> None:
    raise Termination


async def run_to_the_end(work: Work) -> None:
    """Runs the work with nothing to interrupt it but a cancellation from outside."""
    await work()


@asynccontextmanager
async def stop_signals() -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """While this lasts, the signals do nothing but end the wait for the first: it gives its name.

    Further ones are swallowed, and both are ignored from then on, while the process leaves with
    all said and done. Only in the main thread.
    """
    loop = asyncio.get_running_loop()
    first: asyncio.Future[signal.Signals] = loop.create_future()

    def take(number: int) -> None:
        if not first.done():
            first.set_result(signal.Signals(number))

    async def wait_for_one() -> str:
        return (await first).name

    for number in _SIGNALS:
        # Not the loop's own way, which would put the default action back in between.
        signal.signal(number, lambda number, _frame: loop.call_soon_threadsafe(take, number))
    try:
        yield wait_for_one
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


class Interruptions:
    """From `listen` on, the first signal cancels the work that runs; further ones are swallowed.

    So whatever was observed can still be told: cleaning up takes a bounded time. Telling it may
    not, if nobody reads; then a signal that comes later than `PATIENCE_SECONDS` ends the process.

    Attributes:
        first: the name of the first signal that came, or None.
    """

    def __init__(self) -> None:
        self.first: str | None = None
        self._first_at = 0.0
        self._cancel: Callable[[], object] | None = None

    def listen(self) -> None:
        """Takes over both signals, for the rest of the process. Only in the main thread."""
        for number in _SIGNALS:
            signal.signal(number, self._note)

    def finish(self) -> None:
        """Ignores both signals while the process leaves with all said and done.

        The interpreter takes a handler away before it is gone, but leaves an ignored signal so.
        """
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    async def run(self, work: Work) -> str | None:
        """Runs the work; the name of the signal that cancelled it, or None if it was done."""
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            self._cancel = lambda: loop.call_soon_threadsafe(scope.cancel)
            if self.first is not None:
                scope.cancel()
            await work()
        self._cancel = None
        return self.first if scope.cancelled_caught else None

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.first is None:
            self.first = signal.Signals(number).name
            self._first_at = time.monotonic()
            if self._cancel is not None:
                self._cancel()
        elif self._cancel is None and time.monotonic() > self._first_at + PATIENCE_SECONDS:
            raise KeyboardInterrupt

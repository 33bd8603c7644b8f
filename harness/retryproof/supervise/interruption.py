"""Ctrl-C and SIGTERM as cancellation, from the first moment of a command to its last line."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeAlias

import anyio

PATIENCE_SECONDS = 2.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Work: TypeAlias = Callable[[], Awaitable[None]]


async def run_to_the_end(work: Work) -> None:
    """Runs the work with nothing to interrupt it but a cancellation from outside."""
    await work()


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

"""Ctrl-C and SIGTERM as cancellation."""

import signal
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

Work: TypeAlias = Callable[[], Awaitable[None]]


async def run_to_the_end(work: Work) -> None:
    """Runs the work with nothing to interrupt it but a cancellation from outside."""
    await work()


async def run_until_interrupted(work: Work) -> str | None:
    """Runs the work; the name of the signal that cancelled it, or None if it came to its end.

    Further signals are swallowed while the work cleans up, which takes a bounded time.
    """
    interrupted_by: str | None = None

    async def watch() -> None:
        nonlocal interrupted_by
        async for number in signals:
            interrupted_by = interrupted_by or number.name
            work_scope.cancel()

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as work_scope:
                group.start_soon(watch)
                await work()
            group.cancel_scope.cancel()
    return interrupted_by

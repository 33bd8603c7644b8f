"""Blocking work in a thread, under an event loop that can cancel it."""

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from .channel import CancelledError, CancelToken

_Value = TypeVar("_Value")


class _Done(Generic[_Value]):
    def __init__(self, value: _Value) -> None:
        self.value = value


async def run_in_thread(work: Callable[[], _Value], cancel: CancelToken) -> _Value:
    """Runs the work, all of whose waits end when the token is used, and returns its value.

    A cancellation of the surrounding scope uses the token, and waits for the work to end.
    """
    done = None

    async def wake_on_cancellation(*, task_status: TaskStatus[None]) -> None:
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            if done is None:
                cancel.cancel()

    async with anyio.create_task_group() as group:
        await group.start(wake_on_cancellation)
        with anyio.CancelScope(shield=True):
            done = await anyio.to_thread.run_sync(_unless_cancelled, work)
        if done is not None:
            group.cancel_scope.cancel()
            return done.value
        # The surrounding scope is cancelled: this is where that takes effect.
        await anyio.sleep_forever()
    raise AssertionError("a cancelled scope was left as if it were not")


def _unless_cancelled(work: Callable[[], _Value]) -> _Done[_Value] | None:
    try:
        return _Done(work())
    except CancelledError:
        return None

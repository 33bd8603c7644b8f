"""Drives one adapter through its cases: anyio owns the lifetime, a worker thread each action."""

from collections.abc import Callable, Mapping
from functools import partial

import anyio
import anyio.to_thread

from ..clock import RunClock
from ..events import Sink
from ..supervise.channel import CancelToken
from ..supervise.session import WireSink
from ..supervise.worker import run_in_thread
from . import policy
from .conductor import CaseFailedError, Conductor, Plan, Script
from .policy import Launch, Progress, RunCase, ShutDown


async def run_cases(
    plan: Plan,
    cases: Mapping[str, Script],
    emit: Sink,
    clock: RunClock,
    keep_going: bool = False,
    on_wire: WireSink | None = None,
) -> None:
    """Runs the cases in order, until the policy says that nothing is left to do.

    Cancelling the surrounding scope ends the pending call at once. However this ends, no
    process of the adapter is left.
    """
    progress = Progress(tuple(cases), keep_going)
    cancel = CancelToken()
    conductor = Conductor(plan, cancel, emit, clock, on_wire)
    try:
        while (action := policy.decide(progress)) != policy.Finish():
            perform = partial(_perform, conductor, cases, action, progress)
            progress = await run_in_thread(perform, cancel)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(conductor.close)
        cancel.close()


def _perform(
    conductor: Conductor, cases: Mapping[str, Script], action: policy.Action, progress: Progress
) -> Progress:
    match action:
        case Launch():
            return _try(conductor.launch, progress, policy.launched, policy.not_launched)
        case RunCase(name):
            case = cases[name]
            return _try(
                lambda: conductor.run_case(case),
                progress,
                policy.case_completed,
                policy.case_broken_off,
            )
        case ShutDown():
            conductor.shut_down()
            return policy.shut_down(progress)
    return progress


def _try(
    action: Callable[[], None],
    progress: Progress,
    when_done: Callable[[Progress], Progress],
    when_failed: Callable[[Progress], Progress],
) -> Progress:
    try:
        action()
    except CaseFailedError:
        return when_failed(progress)
    return when_done(progress)

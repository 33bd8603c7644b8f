"""What is kept of a run: an attempt's events, its cases apart, and how one ends. Pure.

The cases are kept once for all runs that share them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from ..events import (
    AdapterGone,
    Call,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Event,
    Failure,
    RunEnded,
    RunStarted,
    Sink,
)

_Case = TypeVar("_Case")


def encode_plan(started: RunStarted[Any]) -> bytes:
    """The cases of a run."""
    return msgspec.json.encode(started.cases)


def last_attempt(events: Sequence[Event]) -> Sequence[Event]:
    """The events from the last start on: a run that was interrupted may have several."""
    starts = [index for index, event in enumerate(events) if isinstance(event, RunStarted)]
    return events[starts[-1] :] if starts else ()


def decode_plan(case_type: type[_Case], plan: bytes) -> tuple[_Case, ...]:
    """The cases of a run."""
    return tuple(msgspec.json.decode(plan, type=list[case_type]))  # type: ignore[valid-type]


def replay(attempt: Iterable[Event], cases: tuple[Any, ...], sink: Sink) -> None:
    """Has the sink see the events as they were, with all of the cases."""
    for event in attempt:
        sink(replace(event, cases=cases) if isinstance(event, RunStarted) else event)


def closing_events(
    attempt: Sequence[Event], cases: Iterable[Any], cause: str
) -> Sequence[CallFailed | RunEnded]:
    """What ends an attempt that nobody has seen the end of; nothing if it has ended.

    The record may lag behind the adapter: of a case that was in the middle, the next call may
    have been sent already, so its outcome is unknown, and so the case's.
    """
    if not attempt or isinstance(attempt[-1], RunEnded):
        return ()
    started, last = attempt[0], attempt[-1]
    if not isinstance(started, RunStarted):
        raise ValueError("an attempt begins with its start")
    ended = RunEnded(last.at, started.load, cause)
    call = _call_of_unknown_outcome(attempt, {case.name: case for case in cases})
    if call is None:
        return (ended,)
    message = (
        f"The run was broken off in the middle of this case, and the adapter killed. Whether "
        f"`{call.method}` took effect is unknown."
    )
    failure = Failure("interrupted", call, message, "", definite=False, elapsed_ms=0.0)
    return CallFailed(last.at, failure), ended


def _call_of_unknown_outcome(attempt: Sequence[Event], cases: Mapping[str, Any]) -> Call | None:
    case: Any = None
    call: Call | None = None
    is_pending = False
    for event in attempt:
        match event:
            case CaseStarted(case=name):
                case, call, is_pending = cases[name], Call("reset"), True
            case CallStarted():
                call, is_pending = event.call, True
            case CallReturned():
                is_pending = False
            case CallFailed() | AdapterGone():
                case, call, is_pending = None, None, False
    return call if is_pending else _call_after(case, call)


def _call_after(case: Any, call: Call | None) -> Call | None:
    """The next call of the case, if it has another one."""
    if case is None or call is None or call.method not in {"reset", "step"}:
        return None
    following = 0 if call.step is None else call.step + 1
    return Call("step", following) if following < len(case.steps) else None

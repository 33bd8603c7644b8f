"""The events of a run for people: a line each, with its seconds since the run started."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from retryproof_protocol.quoting import escape_controls
from rich.text import Text

from ..events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    Call,
    CallFailed,
    CallReturned,
    CaseStarted,
    Evaluated,
    Event,
    Failure,
    RunEnded,
    RunStarted,
    WaitStarted,
)
from .run_text import describe_command
from .text import describe_observation

_BROKEN = "bold red"
_DOUBTFUL = "bold yellow"


def render_event(event: Event) -> Iterator[Text]:
    """The event's line; none for the start of a call, since its end tells all of it."""
    line = _describe(event)
    if line is not None:
        yield Text(f"{event.at:8.3f} ", "dim").append_text(line)


def _describe(event: Event) -> Text | None:
    match event:
        case RunStarted():
            return _start(event)
        case AdapterLaunched(containment=containment):
            return Text(f"adapter launched (containment: {containment})")
        case AdapterInitialized():
            return _identity(event)
        case CaseStarted(case=case):
            return Text(f"case {case}", "bold")
        case WaitStarted(seconds=seconds):
            return Text(f"waits {seconds:.1f} s for the next tick")
        case CallReturned():
            return _answer(event)
        case CallFailed(failure=failure):
            return _failure(failure)
        case AdapterGone():
            return _departure(event)
        case RunEnded(interrupted_by=cause):
            return (
                Text("run ended") if cause is None else Text(f"run cut short: {cause}", _DOUBTFUL)
            )
    return None


def _start(event: RunStarted[Any]) -> Text:
    count = len(event.cases)
    cases = "1 case" if count == 1 else f"{count} cases"
    adapter = describe_command(event.adapter.command, event.adapter.host, event.adapter.cwd)
    return Text(f"run of {cases}, {event.contract.name} {event.contract.version}: {adapter}")


def _identity(event: AdapterInitialized) -> Text:
    adapter = event.adapter
    parts = [adapter.name, adapter.version, adapter.language and f"({adapter.language})"]
    name = escape_controls(" ".join(part for part in parts if part))
    return Text(f"adapter is {name}" if name else "adapter has no name")


def _answer(event: CallReturned) -> Text:
    line = Text(_name(event.call))
    if event.observation is not None:
        line.append(" -> ").append_text(describe_observation(event.observation))
    if event.evaluation is not None:
        line.append(f" -> {_evaluation(event.evaluation)}")
    return line.append(f" ({event.elapsed_seconds * 1000:.1f} ms)")


def _evaluation(evaluated: Evaluated) -> str:
    if evaluated.answer.decision is not None:
        return f"{evaluated.answer.decision} ({evaluated.answer.status})"
    return escape_controls(f"refused: {evaluated.refusal or 'with a JSON-RPC error'}")


def _failure(failure: Failure) -> Text:
    words = " ".join(filter(None, (failure.message, failure.advice)))
    return Text(
        f"{_name(failure.call)}: {failure.kind}: {escape_controls(words)} "
        f"({failure.elapsed_ms:.1f} ms)",
        _BROKEN,
    )


def _departure(event: AdapterGone) -> Text:
    status = "" if event.status is None else f", {_exit(event.status)}"
    line = Text(f"adapter gone{status}")
    if event.strays:
        counted = Counter(event.stray_commands).items()
        commands = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in counted)
        noun = "stray process" if event.strays == 1 else "stray processes"
        listed = f" ({escape_controls(commands)})" if commands else ""
        line.append(f"; {event.strays} {noun} killed{listed}", _DOUBTFUL)
    for warning in event.warnings:
        line.append(f"; {escape_controls(warning)}", _DOUBTFUL)
    return line


def _exit(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def _name(call: Call) -> str:
    return call.method if call.step is None else f"{call.method} {call.step + 1}"

"""The words for what went wrong with an adapter: what happened, and what to do about it.

Pure: each function turns what is known into an error with a message that stands by itself.
"""

import errno
import signal
from typing import NamedTuple

from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import PROTOCOL_VERSION, ErrorObject, Method
from retryproof_protocol.quoting import escape_controls, quote_start
from retryproof_protocol.strictjson import StrictJSONError, decode

from ..errors import (
    AdapterCrashError,
    AdapterRefusalError,
    CallTimeoutError,
    LaunchError,
    LimitError,
    MalformedAnswerError,
    VersionError,
)
from .guard import Command, Exceeded, Gone, LaunchRefusedError

_SHOWN_STDERR_LINES = 3
_SHOWN_LINE_CHARACTERS = 200
_SHOWN_STRAYS = 5
_SIGNS_OF_NO_MORE_FILES = (b"Too many open files", b"EMFILE")
_LET_IT_EXEC = (
    " If the command is a wrapper (a shell script, npm), let it exec the adapter or wait for it."
)
_SHOWN_MESSAGE_CHARACTERS = 500


class Remains(NamedTuple):
    """What is known of an adapter of which no process is left."""

    gone: Gone
    stderr_tail: bytes
    unfinished_line: bytes


def not_in_time(
    method: Method, limit_seconds: float, remains: Remains
) -> CallTimeoutError | LaunchError:
    """No whole answer at the deadline; for `initialize` that is a failed launch."""
    if method == "initialize":
        return _never_initialized(limit_seconds, remains)
    advice = (
        "Look for an endless loop, a lock, or a request to a service that does not answer; "
        "and see that stdout is flushed after each answer."
    )
    if _is_whole_answer(remains.unfinished_line):
        advice = (
            "The answer was there, without the end of its line: write \\n after each answer, and "
            "flush."
        )
    return CallTimeoutError(
        f"No answer to `{method}` within {limit_seconds:g} s: the adapter was killed"
        f"{_with_its_strays(remains.gone)}. Whether this call took effect is unknown."
        f"{_partial_answer(remains)}{_last_words(remains)}",
        advice,
    )


def _never_initialized(limit_seconds: float, remains: Remains) -> LaunchError:
    return LaunchError(
        f"The adapter started, but did not answer `initialize` within {limit_seconds:g} s: it "
        f"was killed{_with_its_strays(remains.gone)}."
        f"{_partial_answer(remains)}{_last_words(remains)}",
        "Check that it reads requests from stdin and flushes stdout after each answer; if it "
        "only starts slowly, give it more time with --startup-timeout.",
    )


def flushed_too_late(limit_seconds: float) -> LaunchError:
    """The answer to `initialize` was in a buffer all the time."""
    return LaunchError(
        f"The adapter answered `initialize` only when its stdin was closed, after "
        f"{limit_seconds:g} s of silence.",
        "Its answers wait in a buffer: flush stdout after each line.",
    )


def crashed(method: Method | None, remains: Remains) -> AdapterCrashError | LaunchError:
    """The process ended while a call was pending."""
    if remains.gone.guard_lost:
        return _guard_lost(remains)
    if remains.stderr_tail.startswith(b"bwrap: "):
        return LaunchError(
            f"The sandbox could not start the adapter.{_last_words(remains)}",
            "Check the command; in the sandbox /tmp and /run are empty, and only the adapter's "
            "own folder is kept of them.",
        )
    status = remains.gone.status
    advice = "See what it wrote to stderr."
    if not remains.stderr_tail:
        advice = "It wrote nothing to stderr: have it print there what went wrong."
    if any(sign in remains.stderr_tail for sign in _SIGNS_OF_NO_MORE_FILES):
        advice = "It may open more files at a time with --max-open-files."
    elif status == 0:
        advice = "An adapter goes on answering until it is told `shutdown` or its stdin ends."
    return AdapterCrashError(
        f"The adapter {describe_exit(remains.gone)} {_while(method)}."
        f"{_partial_answer(remains)}{_strays_sentence(remains.gone)}{_last_words(remains)}",
        advice,
    )


def closed_a_pipe(pipe: str, method: Method | None, remains: Remains) -> MalformedAnswerError:
    """The process lives, but can't be talked to any more."""
    return MalformedAnswerError(
        f"The adapter closed its {pipe} {_while(method)}, and went on running: it "
        f"was killed{_with_its_strays(remains.gone)}.{_last_words(remains)}",
        "Keep stdin and stdout open until the process ends.",
    )


def malformed(
    error: RemoteProtocolError, remains: Remains, has_ended: bool = False
) -> MalformedAnswerError:
    """The adapter broke the protocol, `has_ended` if by leaving."""
    exit_sentence = f" The adapter {describe_exit(remains.gone)}." if has_ended else ""
    return MalformedAnswerError(
        f"{error.message}{exit_sentence}{_last_words(remains)}", error.advice
    )


def refused(method: Method, error: ErrorObject) -> AdapterRefusalError:
    """The adapter answered with a JSON-RPC error."""
    shown = escape_controls(error.message[:_SHOWN_MESSAGE_CHARACTERS])
    return AdapterRefusalError(
        f"The adapter answered `{method}` with the error {error.code}: {shown}"
        f"{'' if shown.endswith(('.', '!', '?')) else '.'}",
        "This is the adapter's own report of a failure: mend it there, or in the service "
        "behind it.",
    )


def over_limit(method: Method | None, exceeded: Exceeded, remains: Remains) -> LimitError:
    """The adapter used more than it may."""
    used, option = _LIMITS[exceeded.name]
    value, allowed = (_amount(number, exceeded) for number in (exceeded.value, exceeded.allowed))
    return LimitError(
        f"The adapter {used.format(value)} {_while(method)}; {allowed} are allowed: it was killed"
        f"{_with_its_strays(remains.gone)}. Whether this call took effect is unknown."
        f"{_last_words(remains)}",
        f"If it needs that much, allow it with {option}.",
    )


_LIMITS = {
    "memory": ("held {} of memory", "--max-memory"),
    "processes": ("had {} processes", "--max-processes"),
    "output": ("had written {} to stdout and stderr", "--max-output"),
}
_MIB = 1024 * 1024


def _amount(value: int, exceeded: Exceeded) -> str:
    return f"{value:,}" if exceeded.name == "processes" else f"{value / _MIB:,.0f} MiB"


def other_version(spoken: int) -> VersionError:
    """The adapter speaks another protocol version."""
    return VersionError(
        f"The adapter speaks protocol version {spoken}; this runner speaks {PROTOCOL_VERSION}.",
        "Use an adapter and a runner of the same protocol version.",
    )


def not_launched(error: LaunchRefusedError, command: Command) -> LaunchError:
    """The system would not start the command."""
    program = escape_controls(command.argv[0])
    folder = escape_controls(command.cwd)
    if error.stage == "cwd":
        return LaunchError(
            f"The folder {folder} can't be entered: {_reason(error)}.",
            "Check --cwd.",
        )
    if error.error_number == errno.ENOENT:
        advice = (
            "Check the spelling and the adapter's PATH. If the file is there, the interpreter "
            "that its first line names is not."
        )
        return LaunchError(f"The program {program} was not found (in {folder}).", advice)
    if error.error_number == errno.EACCES:
        advice = "Make it executable (chmod +x), or name its interpreter: -- python3 FILE."
        return LaunchError(f"The program {program} is not executable.", advice)
    if error.error_number == errno.ENOEXEC:
        advice = "Give it a first line such as #!/bin/sh, or name its interpreter."
        return LaunchError(f"The program {program} is in no format that can be run.", advice)
    return LaunchError(f"The program {program} could not be started: {_reason(error)}.")


def left_badly(gone: Gone) -> tuple[str, ...]:
    """Warnings about how an adapter left after `shutdown`."""
    warnings = []
    if gone.status is None or gone.status != 0:
        warnings.append(f"After `shutdown` the adapter {describe_exit(gone)}.")
    if gone.strays:
        sentence = "After `shutdown` the adapter left processes behind."
        warnings.append(sentence + _strays_sentence(gone) + _LET_IT_EXEC)
    return tuple(warnings)


def had_to_be_killed(limit_seconds: float, gone: Gone) -> str:
    """The warning about an adapter that stayed after `shutdown`."""
    return (
        f"The adapter did not leave within {limit_seconds:g} s of `shutdown` and the end of its "
        f"stdin: it was killed{_with_its_strays(gone)}. Close what keeps it running (timers, "
        "servers, threads)."
    )


def describe_exit(gone: Gone) -> str:
    """How the first process ended, as a clause."""
    if gone.status is None:
        return "ended in a way that could not be observed"
    if gone.status >= 0:
        return f"exited with status {gone.status}"
    return f"was ended by {signal_name(-gone.status)}"


def signal_name(number: int) -> str:
    """SIGSEGV for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def printable_tail(tail: bytes) -> str:
    """What stderr ended with, safe to show, its line ends kept."""
    text = tail.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return escape_controls(text, keep="\n\t")


def _guard_lost(remains: Remains) -> AdapterCrashError:
    return AdapterCrashError(
        "The guard process that contains the adapter was killed or stopped, most likely by the "
        f"adapter itself; everything that it left was killed.{_last_words(remains)}",
        "An adapter must not signal its parent process.",
    )


def _while(method: Method | None) -> str:
    return "while no call was pending" if method is None else f"while `{method}` was pending"


def _reason(error: LaunchRefusedError) -> str:
    return escape_controls(error.reason)


def _with_its_strays(gone: Gone) -> str:
    if not gone.strays:
        return ""
    noun = "process" if gone.strays == 1 else "processes"
    return f", and with it {gone.strays} more {noun} ({_stray_names(gone)})"


def _strays_sentence(gone: Gone) -> str:
    if not gone.strays:
        return ""
    noun = "process" if gone.strays == 1 else "processes"
    return f" {gone.strays} stray {noun} had to be killed ({_stray_names(gone)})."


def _stray_names(gone: Gone) -> str:
    counted: dict[str, int] = {}
    for command in gone.stray_commands:
        counted[command] = counted.get(command, 0) + 1
    names = [
        escape_controls(command) + (f" x{count}" if count > 1 else "")
        for command, count in counted.items()
    ]
    more = ", ..." if len(names) > _SHOWN_STRAYS else ""
    return ", ".join(names[:_SHOWN_STRAYS]) + more


def _is_whole_answer(unfinished_line: bytes) -> bool:
    try:
        return isinstance(decode(unfinished_line), dict)
    except StrictJSONError:
        return False


def _partial_answer(remains: Remains) -> str:
    if not remains.unfinished_line:
        return ""
    return f" It had written {quote_start(remains.unfinished_line)} without the end of a line."


def _last_words(remains: Remains) -> str:
    lines = [line for line in printable_tail(remains.stderr_tail).splitlines() if line.strip()]
    if not lines:
        return ""
    shown = [line.strip()[:_SHOWN_LINE_CHARACTERS] for line in lines[-_SHOWN_STDERR_LINES:]]
    return " Its stderr ended: " + " | ".join(shown)

"""What to tell an adapter's author about a line that is not an answer.

Each function looks at the offending bytes and guesses the cause: most people who meet one of
these printed something, forgot to flush, or wrote two answers at once.
"""

import json

from .errors import RemoteProtocolError
from .framing import MAX_LINE_BYTES
from .quoting import quote_start

STDOUT_IS_THE_PROTOCOLS = (
    "Stdout belongs to the protocol: send logs and prints to stderr, and let nothing else "
    "(a library's banner, a child process) write to it."
)
_SHOWN_START_BYTES = 80
_ONE_LINE_PER_ANSWER = "Write each answer as one line of compact JSON and end it with \\n."


def not_utf8(line: bytes, problem: str) -> RemoteProtocolError:
    """A line with bytes that no UTF-8 text has."""
    advice = "Encode each answer as UTF-8."
    if b"\x00" in line[:4]:
        advice = "It looks like UTF-16. " + advice
    return RemoteProtocolError(
        "not-utf8", f"The line {quote_start(line)} {problem}.", advice + " " + _ONE_LINE_PER_ANSWER
    )


def not_json(line: bytes, problem: str) -> RemoteProtocolError:
    """A line that holds no JSON."""
    message = f"The line {quote_start(line)} {problem}."
    return RemoteProtocolError("not-json", message, _cause_of_no_json(line))


def repeated_member(line: bytes, path: str) -> RemoteProtocolError:
    """An object with a member twice: two readers would read two different answers."""
    return RemoteProtocolError(
        "repeated-member",
        f'The line {quote_start(line)} has the member "{path}" twice.',
        "Write each member once.",
    )


def line_too_long(start: bytes) -> RemoteProtocolError:
    """More than a line may hold, with or without an end.

    How much of it has arrived depends on the pieces it came in, and is not told.
    """
    return RemoteProtocolError(
        "line-too-long",
        f"A line on stdout is longer than 1 MiB ({MAX_LINE_BYTES:,} bytes). "
        f"It starts {quote_start(start[:_SHOWN_START_BYTES])}.",
        f"{_ONE_LINE_PER_ANSWER} {STDOUT_IS_THE_PROTOCOLS}",
    )


def ended_in_mid_line(unfinished: bytes) -> RemoteProtocolError:
    """Stdout was closed after a part of a line."""
    return RemoteProtocolError(
        "ended-in-mid-line",
        f"Stdout ended in the middle of a line: {quote_start(unfinished)}.",
        "End each answer with \\n and flush it before the process leaves.",
    )


def unasked_line(line: bytes) -> RemoteProtocolError:
    """A line while no request is pending."""
    advice = "Answer each request once, with one line."
    if not line.lstrip().startswith(b"{"):
        advice = STDOUT_IS_THE_PROTOCOLS
    return RemoteProtocolError(
        "unasked-line",
        f"The adapter wrote the line {quote_start(line)} while no request was pending.",
        advice,
    )


def _cause_of_no_json(line: bytes) -> str:
    text = line.decode("utf-8").strip()
    if not text:
        return "It is blank: write nothing between answers. " + _ONE_LINE_PER_ANSWER
    if text.startswith("\ufeff"):
        return "It begins with a byte-order mark: write UTF-8 without one."
    if "\x00" in text:
        return f"It holds NUL characters, as UTF-16 does: write UTF-8. {_ONE_LINE_PER_ANSWER}"
    if _has_two_objects(text):
        return f"Two answers stand on one line. {_ONE_LINE_PER_ANSWER}"
    if text in {"{", "["}:
        return f"The JSON is spread over several lines. {_ONE_LINE_PER_ANSWER}"
    if text.startswith(("{'", "{ '")):
        return "Single quotes are no JSON: use your language's JSON writer (json.dumps in Python)."
    if any(f"{opening}{word}" in text for opening in ":[, " for word in _NON_NUMBERS):
        return "JSON has no NaN and no Infinity: write null, or a number."
    if text.startswith("{"):
        return f"Use your language's JSON writer. {_ONE_LINE_PER_ANSWER}"
    return f"Something printed to stdout. {STDOUT_IS_THE_PROTOCOLS}"


_NON_NUMBERS = ("NaN", "Infinity", "-Infinity")


def _has_two_objects(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith("{")

"""Values that somebody else wrote, in words that are safe to show and short enough to read."""

from typing import Any

from retryproof_protocol.answers import describe_type
from retryproof_protocol.quoting import escape_controls

from .numerals import Numeral
from .report import Problem

_SHOWN_CHARACTERS = 60
_SHOWN_PATH_CHARACTERS = 200


def problem_at(path: str, message: str) -> Problem:
    """The problem, its place short enough to read; the names in it are safe to show already."""
    if len(path) > _SHOWN_PATH_CHARACTERS:
        path = f"{path[:_SHOWN_PATH_CHARACTERS]}..."
    return Problem(path, message)


def describe(value: Any) -> str:
    """What value this is, as far as it is short: "null", "an object", 'the string "x"'."""
    if isinstance(value, str):
        return f'the string "{_shorten(value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {_shorten(str(value))}"
    if isinstance(value, Numeral):
        return f"the number {_shorten(value.text)}"
    return describe_type(value)


def describe_length(value: Any) -> str:
    """A string's length as an appendix, nothing for another value."""
    if not isinstance(value, str):
        return ""
    return f" of {len(value):,} {'character' if len(value) == 1 else 'characters'}"


def _shorten(text: str) -> str:
    ellipsis = "..." if len(text) > _SHOWN_CHARACTERS else ""
    start = text[:_SHOWN_CHARACTERS]
    return (start if start.isprintable() else escape_controls(start)) + ellipsis

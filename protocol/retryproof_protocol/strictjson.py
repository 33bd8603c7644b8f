"""JSON as RFC 8259 has it, with nothing let through that two readers could read differently.

msgspec checks the grammar: it refuses NaN, Infinity, lone surrogates, comments, a byte-order
mark and trailing data, all of which the standard library's reader accepts. The standard
library's reader sees every member of an object, which msgspec does not: it keeps the last one
of a repeated name and says nothing.
"""

import functools
import json
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from .quoting import shown_name

JSONValue: TypeAlias = "bool | int | float | str | list[JSONValue] | dict[str, JSONValue] | None"


Rule: TypeAlias = Literal["not-utf8", "not-json", "repeated-member"]


class StrictJSONError(ValueError):
    """The bytes are not strict JSON.

    Attributes:
        rule: which rule they break.
        path: the place ("steps[3].at", or "" for the whole text), safe to show.
        problem: what is wrong there, in words that follow a subject ("is not JSON: ...").
    """

    def __init__(self, rule: Rule, path: str, problem: str) -> None:
        super().__init__(f"{path or 'the text'} {problem}")
        self.rule = rule
        self.path = path
        self.problem = problem


class _RepeatedMemberError(ValueError):
    pass


class _Members(list[tuple[str, Any]]):
    """An object's members as written, repeated names included."""


def decode(data: bytes, float_hook: Callable[[str], Any] | None = None) -> JSONValue:
    """The value that `data` holds.

    Args:
        data: the text, in UTF-8.
        float_hook: what to make of a number that has a fraction or an exponent, from its text.
            It has to judge the range, too, must not fail, and what it returns must encode to
            JSON without a colon. A float without it.

    Raises:
        StrictJSONError: for bytes that are not UTF-8, text that is not JSON, a repeated member
            name, nesting too deep to read (about 1,000 levels), a number out of range.
    """
    try:
        text = data.decode("utf-8")
        value: JSONValue = _decoder(float_hook).decode(text)
        return value if _is_whole(text, value) else _refuse_repeats(text, float_hook)
    except UnicodeDecodeError as error:
        raise StrictJSONError("not-utf8", "", f"is not UTF-8 at byte {error.start}") from None
    except _RepeatedMemberError:
        raise _repeated_member(text) from None
    except RecursionError:
        raise StrictJSONError("not-json", "", "is nested too deeply") from None
    except (msgspec.DecodeError, ValueError) as error:
        problem = f"is not JSON: {_as_clause(str(error), data)}"
        raise StrictJSONError("not-json", "", problem) from None


def member_path(parent: str, name: str) -> str:
    """The path of a member of the object at `parent`, safe to show."""
    shown = shown_name(name)
    return f"{parent}.{shown}" if parent else shown


def element_path(parent: str, index: int) -> str:
    """The path of an element of the array at `parent`."""
    return f"{parent}[{index}]"


@functools.cache
def _decoder(float_hook: Callable[[str], Any] | None) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(float_hook=float_hook)


def _is_whole(text: str, value: JSONValue) -> bool:
    """Whether `value` surely has every member of `text`: none was dropped as a repeat."""
    if "\\u003" not in text:
        # No colon was escaped, so strings hold the same ones before and after.
        return text.count(":") == msgspec.json.encode(value).count(b":")
    # As many colons as members. More: strings may hold them.
    return text.count(":") == _count_members(value)


def _count_members(value: JSONValue) -> int:
    if type(value) is dict:
        return len(value) + sum(map(_count_members, value.values()))
    if type(value) is list:
        return sum(map(_count_members, value))
    return 0


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedMemberError
    return members


def _refuse_repeats(text: str, float_hook: Callable[[str], Any] | None) -> JSONValue:
    value: JSONValue = json.loads(text, object_pairs_hook=_unrepeated, parse_float=float_hook)
    return value


def _repeated_member(text: str) -> StrictJSONError:
    path = _find_repeat(json.loads(text, object_pairs_hook=_Members), "")
    return StrictJSONError("repeated-member", path or "", "is there twice")


def _find_repeat(value: Any, path: str) -> str | None:
    if isinstance(value, _Members):
        seen: set[str] = set()
        for name, member in value:
            here = member_path(path, name)
            if name in seen:
                return here
            seen.add(name)
            if (found := _find_repeat(member, here)) is not None:
                return found
    elif isinstance(value, list):
        for index, element in enumerate(value):
            if (found := _find_repeat(element, element_path(path, index))) is not None:
                return found
    return None


_NON_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")


def _as_clause(message: str, data: bytes) -> str:
    reason, _, _ = message.removeprefix("JSON is malformed: ").partition(" - at `")
    if reason == "Input data was truncated":
        return "it ends too early"
    place = re.search(r"\(byte (\d+)\)", reason)
    # The grammar is left at the first letter that fits no literal, one after a minus sign.
    left_at = int(place[1]) if place else len(data)
    word = _NON_NUMBER.match(data, max(0, left_at - 1)) or _NON_NUMBER.match(data, left_at)
    if word is not None:
        return f"it has no number {word[0].decode()}"
    return reason[:1].lower() + reason[1:]

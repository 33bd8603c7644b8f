"""Where an answer holds something: a JSON pointer (RFC 6901), or header:NAME. Pure.

Of our own rather than from the library `jsonpointer`: its one exception quotes the whole
document, and says neither which part of the pointer led nowhere nor what there is instead;
with "-" it answers with an object that is no JSON at all.
"""

import re
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from .templates import JSONValue

_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_HEADER = "header:"
_SHOWN_MEMBERS = 8
_SHOWN_CHARACTERS = 60


class NoPointerError(ValueError):
    """The text is no pointer; the message says why in words that follow it."""


class NotThereError(LookupError):
    """The document has nothing there; the message says what it has instead."""


class JSONPointer(Struct, frozen=True):
    """A place in a JSON document: the names and indexes on the way to it."""

    text: str
    tokens: tuple[str, ...]


class Header(Struct, frozen=True):
    """A header of the answer, by its name in lower case."""

    name: str


Where: TypeAlias = JSONPointer | Header


def parse_where(text: str) -> Where:
    """The place that `text` names.

    Raises:
        NoPointerError: it is neither a JSON pointer nor header:NAME.
    """
    if not text.startswith(_HEADER):
        return parse_pointer(text)
    name = text.removeprefix(_HEADER)
    if not is_header_name(name):
        raise NoPointerError("does not name a header.")
    return Header(name.lower())


def parse_pointer(text: str) -> JSONPointer:
    """The pointer that `text` is; the empty one is the whole document.

    Raises:
        NoPointerError: it is none.
    """
    if text and not text.startswith("/"):
        raise NoPointerError('is no JSON pointer: it must begin with "/".')
    if _BAD_ESCAPE.search(text):
        raise NoPointerError('is no JSON pointer: "~" is written ~0, and "/" in a name ~1.')
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])
    return JSONPointer(text, tuple(tokens))


def resolve(pointer: JSONPointer, document: JSONValue) -> JSONValue:
    """What the document holds at the pointer.

    Raises:
        NotThereError: nothing.
    """
    value = document
    for depth, token in enumerate(pointer.tokens):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _INDEX.fullmatch(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            parent = "/".join(pointer.text.split("/")[: depth + 1])
            raise NotThereError(f"{parent or 'the whole of it'} is {describe(value)}")
    return value


def describe(value: JSONValue) -> str:
    """A JSON value in a few words."""
    if isinstance(value, dict):
        return f"an object with {_list(value)}" if value else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, str):
        return f'the string "{_shortened(value)}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"the number {_shortened(str(value))}"


def is_header_name(text: str) -> bool:
    """Whether HTTP allows this as the name of a header."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", text) is not None


def _list(names: Iterable[str]) -> str:
    shown = [_shortened(name) for name in names]
    more = ", ..." if len(shown) > _SHOWN_MEMBERS else ""
    return ", ".join(shown[:_SHOWN_MEMBERS]) + more


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."

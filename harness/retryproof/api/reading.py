"""From the bytes of a request's body, or of an answer, to a typed value, strictly."""

import re
from typing import Any, TypeVar

import msgspec
from retryproof_protocol.strictjson import StrictJSONError, decode

_Value = TypeVar("_Value")
_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>.*)`$")

ABSOLUTE_PATH = r"^/[^\x00]*$"
ARGUMENT = r"^[^\x00]*$"
VARIABLE_NAME = r"^[^\x00=]+$"
_IN_WORDS = {
    ABSOLUTE_PATH: "Must be an absolute path",
    ARGUMENT: "Must not have a NUL character, which the system can't pass on",
    VARIABLE_NAME: "Must be a variable's name, without = and NUL",
}


class MalformedBodyError(ValueError):
    """A body is not what was asked for.

    Attributes:
        path: the place ("adapter.command[0]", or "" for the whole body).
        problem: what is wrong there, as a sentence.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


def read_body(data: bytes, wanted: type[_Value]) -> _Value:
    """The value that a body holds.

    Raises:
        MalformedBodyError: it is not strict JSON, or of another form; a member that nobody
            knows and one that is there twice are refused as well.
    """
    return as_form(read_document(data), wanted)


def read_document(data: bytes) -> Any:
    """The JSON value of a body. Raises as `read_body`."""
    try:
        return decode(data)
    except StrictJSONError as error:
        subject = error.path or "The body"
        raise MalformedBodyError(error.path, f"{subject} {error.problem}.") from None


def as_form(document: Any, wanted: type[_Value], *, strict: bool = True) -> _Value:
    """A JSON value as a typed one; unless `strict`, text is taken for a number as well.

    Raises as `read_body`.
    """
    try:
        return msgspec.convert(document, wanted, strict=strict)
    except msgspec.ValidationError as error:
        message = str(error)
        place = _PLACE.search(message)
        problem = message if place is None else message[: place.start()]
        for pattern, words in _IN_WORDS.items():
            if problem.endswith(f"matching regex {pattern!r}"):
                problem = words
        raise MalformedBodyError("" if place is None else place["path"], f"{problem}.") from None

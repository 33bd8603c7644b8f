"""The fingerprint of a request's body: sha256 over its canonical form, RFC 8785.

Member order, spacing and 1.0 against 1 make no difference to it; any other change does. The
canonical form writes numbers as doubles, so a number that a double would change has none.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, TypeAlias

import msgspec
import rfc8785
from msgspec import Meta, Struct
from retryproof_protocol.strictjson import element_path, member_path

from .numerals import LARGEST_NUMBER, Numeral, double_of

MAX_BODY_DEPTH = 98
"""Arrays and objects inside one another. The body's own place in a request takes two of 100."""

_MAX_SAFE_INTEGER = 2**53 - 1
_CHANGED = "is a number that a double would change: write it as a string."

_PLAIN_FRACTION = 1e15
_Scalar: TypeAlias = (
    Annotated[int, Meta(ge=-_MAX_SAFE_INTEGER, le=_MAX_SAFE_INTEGER)]
    | Annotated[float, Meta(gt=-_PLAIN_FRACTION, lt=_PLAIN_FRACTION)]
    | str
    | bool
    | None
)
_Plain1: TypeAlias = _Scalar | list[_Scalar] | dict[str, _Scalar]
_Plain2: TypeAlias = _Scalar | list[_Plain1] | dict[str, _Plain1]
_Plain3: TypeAlias = _Scalar | list[_Plain2] | dict[str, _Plain2]
_Plain4: TypeAlias = _Scalar | list[_Plain3] | dict[str, _Plain3]
_Plain5: TypeAlias = _Scalar | list[_Plain4] | dict[str, _Plain4]

_WRITTEN_OTHERWISE = re.compile(rb"(?:^|[:,\[])-?[0-9.]+(?:\.0(?![0-9])|e-)")
"""Where a number is 1.0 or 1e-6 for msgspec, RFC 8785 has 1 and 0.000001."""
_DOT, _MINUS = b".-"
_SORTED_OTHERWISE = re.compile(rb"[\xf0-\xf4]")
"""The first byte of a character that takes two units of UTF-16."""


_CONTAINERS = (dict, list, tuple)


class _PlainBody(Struct, array_like=True):
    value: _Scalar | list[_Plain5] | dict[str, _Plain5]


class BodyError(ValueError):
    """A body that has no fingerprint. `path` is the place inside the body, "" for all of it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"the body{path and ' at '}{path} {problem}")
        self.path = path
        self.problem = problem


def fingerprint_of(body: Any) -> str:
    """The sha256 of the body's canonical form, as 64 hex digits in lower case.

    Raises:
        BodyError: it is no JSON value, nested too deeply, or has a number that a double
            would change.
    """
    return hashlib.sha256(canonical_form(body)).hexdigest()


def canonical_form(body: Any) -> bytes:
    """The body's one form by RFC 8785.

    Raises:
        BodyError: as `fingerprint_of`.
    """
    written = _write_plainly(body)
    if written is not None:
        return written
    for path, problem in body_problems(body, ""):
        raise BodyError(path, problem)
    normalized = _normalized(body)
    return _write_plainly(normalized) or rfc8785.dumps(normalized)


def body_problems(body: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each place of the body that has no canonical form, and what is wrong there.

    Yields:
        The place, below `path`, and the problem in words that follow it.
    """
    steps: list[str | int] = []
    for problem in _problems(body, steps):
        place = path
        for step in steps:
            place = _place_of(step, place)
        yield place, problem


def _write_plainly(body: Any) -> bytes | None:
    """What msgspec writes, if it is as RFC 8785 has it: some ten times as fast as rfc8785.

    It is, unless a body has numbers that the two write differently, or has characters that the
    two may sort differently: by bytes, or by UTF-16 units.
    """
    try:
        plain = msgspec.convert((body,), _PlainBody).value
        if plain != body:
            return None  # A set is an array to msgspec.
    except msgspec.ValidationError:
        if not _is_plain(body, MAX_BODY_DEPTH):
            return None
        plain = body
    try:
        written = msgspec.json.encode(plain, order="sorted")
    except UnicodeEncodeError:
        return None
    # A single byte is found faster than two, and those faster than a pattern.
    may_differ = (_DOT in written and b".0" in written) or (_MINUS in written and b"e-" in written)
    if may_differ and _WRITTEN_OTHERWISE.search(written):
        return None
    return written if written.isascii() or not _SORTED_OTHERWISE.search(written) else None


def _is_plain(value: Any, depth_left: int) -> bool:
    """As a plain body for msgspec, but nested as deeply as a body may be."""
    children: Iterable[Any]
    if type(value) is list:
        children = value
    elif type(value) is dict and all(type(name) is str for name in value):
        children = value.values()
    elif type(value) is int:
        return -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER
    elif type(value) is float:
        return -_PLAIN_FRACTION < value < _PLAIN_FRACTION
    else:
        return type(value) is str or type(value) is bool or value is None
    if not depth_left:
        return False
    # It takes a quarter of what `all` and `map` would.
    for child in children:  # noqa: SIM110
        if not _is_plain(child, depth_left - 1):
            return False
    return True


def _problems(value: Any, steps: list[str | int]) -> Iterator[str]:
    """The problems of the value that `steps` lead to; they lead to each as it is yielded.

    The caller makes a path of them: most bodies have no problem, and need no path.
    """
    if not isinstance(value, _CONTAINERS):
        if problem := _scalar_problem(value):
            yield problem
        return
    if len(steps) == MAX_BODY_DEPTH:
        yield f"is nested deeper than {MAX_BODY_DEPTH + 2} levels."
        return
    for step, child in _children(value):
        steps.append(step)
        yield from _problems(child, steps)
        steps.pop()
    if isinstance(value, dict) and not all(map(_is_text, value)):
        yield "has a member whose name is not a string of Unicode characters."


def _place_of(step: str | int, parent: str) -> str:
    return element_path(parent, step) if isinstance(step, int) else member_path(parent, step)


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return ((str(name), member) for name, member in value.items())
    return enumerate(value)


def _scalar_problem(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return None if _is_text(value) else "has a lone surrogate."
    if isinstance(value, int):
        return _CHANGED if double_of(value) is None else None
    if isinstance(value, float):
        return None if abs(value) <= LARGEST_NUMBER else "is not a finite number."
    return _CHANGED if isinstance(value, Numeral) else "is not a JSON value."


def _is_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _normalized(value: Any) -> Any:
    """The value, each number in the type from which it is written shortly and rightly.

    That is an int if the number is a safe integer. rfc8785 refuses larger integers, but writes
    the equal double.
    """
    if isinstance(value, dict):
        return {name: _normalized(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_normalized(element) for element in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MAX_SAFE_INTEGER:
        return int(value)
    if isinstance(value, int) and abs(value) > _MAX_SAFE_INTEGER:
        return double_of(value)
    return value

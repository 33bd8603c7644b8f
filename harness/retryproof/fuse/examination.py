"""The slow reader: walks a decoded input and finds all of its problems in one pass.

msgspec stops at the first problem, and refuses some inputs that the contract allows: 1.0 for
the integer 1, or a cost with more digits than a double holds. Such inputs come here.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Struct
from retryproof_protocol.strictjson import element_path, member_path

from .attempts import MAX_ATTEMPTS, Attempt, Outcome, Part, Phase
from .description import describe, describe_length, problem_at
from .fingerprint import BodyError, body_problems, fingerprint_of
from .numerals import LARGEST_NUMBER, as_integer, as_number, is_amount
from .report import Problem
from .request import (
    CONTRACT_VERSION,
    MAX_KEY_CHARACTERS,
    Operation,
    Policy,
    PriorRecord,
    RecordStatus,
    Request,
    normalized_hash,
)

MAX_PROBLEMS = 100
"""More are counted, not listed: nobody reads them, and hostile input could hold millions."""

_Reader: TypeAlias = "Callable[[_Walk, Any, str], Any]"
_AnyPart = TypeVar("_AnyPart", bound=Part)


class Examination(Struct, frozen=True):
    """What was found: the request, or the problems that stood in its way."""

    request: Request | None
    problems: tuple[Problem, ...]


def examine(value: Any) -> Examination:
    """Reads a decoded input, whatever it is. Its fractions may be there as numerals."""
    walk = _Walk()
    request = walk.read_members(Request, value, "")
    return Examination(request, tuple(walk.problems))


class _Walk:
    """Reads part after part. A reader takes a value and its path, and returns it as read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._found = 0

    def read(self, kind: type[_AnyPart], value: Any, path: str) -> _AnyPart | None:
        """The part; None if it has problems. Most parts of most inputs are as msgspec likes."""
        try:
            part = msgspec.convert(value, kind)
            part.check()
        except (msgspec.ValidationError, ValueError):
            return self.read_members(kind, value, path)
        return part

    def read_members(self, kind: type[_AnyPart], value: Any, path: str) -> _AnyPart | None:
        """As `read`, member after member."""
        if not isinstance(value, dict):
            self._refuse(path, f"must be an object, is {describe(value)}.")
            return None
        found_before = self._found
        required, readers = _REQUIRED.get(kind), _READERS[kind]
        if required is not None and required not in value:
            self._refuse(member_path(path, required), "is missing.")
        read = {}
        for name, member in value.items():
            if name in readers:
                place = f"{path}.{name}" if path else name
                read[name] = readers[name](self, member, place)
            else:
                place = member_path(path, name)
                self._refuse(place, f"is not allowed here: only {', '.join(readers)}.")
        if kind is Operation:
            self._compare(read, path)
        return msgspec.convert(read, kind) if self._found == found_before else None

    def operation(self, value: Any, path: str) -> Operation | None:
        # Not by `read`, which would look through a body that has problems once more.
        return self.read_members(Operation, value, path)

    def attempts(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            self._refuse(path, f"must be an array of attempts, is {describe(value)}.")
            return None
        if len(value) > MAX_ATTEMPTS:
            self._refuse(path, f"has {len(value):,} attempts; at most {MAX_ATTEMPTS:,} may be.")
            return None
        return [
            self.read(Attempt, attempt, element_path(path, index))
            for index, attempt in enumerate(value)
        ]

    def record(self, value: Any, path: str) -> PriorRecord | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            self._refuse(path, f"must be an object or null, is {describe(value)}.")
            return None
        return self.read(PriorRecord, value, path)

    def policy(self, value: Any, path: str) -> Policy | None:
        return self.read(Policy, value, path)

    def version(self, value: Any, path: str) -> Any:
        if as_integer(value) != CONTRACT_VERSION:
            self._refuse(path, f"must be the integer {CONTRACT_VERSION}, is {describe(value)}.")
        return CONTRACT_VERSION

    def text(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or not value.strip():
            self._refuse(path, f"must be a string that is not blank, is {describe(value)}.")
        return value

    def key(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or len(value) <= MAX_KEY_CHARACTERS:
            return self.text(value, path)
        self._refuse(path, f"has {len(value):,} characters; at most {MAX_KEY_CHARACTERS} may be.")
        return None

    def hash(self, value: Any, path: str) -> Any:
        try:
            return normalized_hash(value)
        except (TypeError, ValueError):
            given = f"{describe(value)}{describe_length(value)}"
            self._refuse(path, f"must be a sha256 of 64 hex digits, is {given}.")
            return None

    def body(self, value: Any, path: str) -> Any:
        for place, problem in body_problems(value, path):
            self._refuse(place, problem)
        return value

    def committed(self, value: Any, path: str) -> Any:
        if not isinstance(value, bool) and value != "unknown":
            self._refuse(path, f'must be true, false or "unknown", is {describe(value)}.')
        return value

    def choose(self, choices: tuple[str, ...], value: Any, path: str) -> Any:
        if not isinstance(value, str) or value not in choices:
            *others, last = (f'"{choice}"' for choice in choices)
            self._refuse(path, f"must be {', '.join(others)} or {last}, is {describe(value)}.")
        return value

    def threshold(self, value: Any, path: str) -> Any:
        integer = as_integer(value)
        if integer is None or not 1 <= integer <= LARGEST_NUMBER:
            self._refuse(path, f"must be an integer from 1, is {describe(value)}.")
        return integer

    def units(self, value: Any, path: str) -> Any:
        number = as_number(value)
        if not is_amount(number):
            self._refuse(path, f"must be a finite number from 0, is {describe(value)}.")
        return number

    def _compare(self, operation: Mapping[str, Any], path: str) -> None:
        given = operation.get("requestHash")
        if given is None or "body" not in operation:
            return
        with suppress(BodyError):  # Its problems have been found by now.
            computed = fingerprint_of(operation["body"])
            if given != computed:
                place = member_path(path, "requestHash")
                self._refuse(place, f"is not the fingerprint of the body beside it, {computed}.")

    def _refuse(self, path: str, message: str) -> None:
        self._found += 1
        if self._found <= MAX_PROBLEMS:
            self.problems.append(problem_at(path, message))
        else:
            count = self._found - MAX_PROBLEMS
            noun = "problem" if count == 1 else "problems"
            unlisted = Problem("", f"has {count:,} more {noun}.")
            self.problems[MAX_PROBLEMS:] = [unlisted]


def _chooser(choices: Any) -> _Reader:
    return lambda walk, value, path: walk.choose(get_args(choices), value, path)


_REQUIRED: Mapping[type[Part], str] = {Request: "operation", Operation: "endpoint"}
_READERS: Mapping[type[Part], Mapping[str, _Reader]] = {
    Request: {
        "contractVersion": _Walk.version,
        "operation": _Walk.operation,
        "attempts": _Walk.attempts,
        "priorRecord": _Walk.record,
        "policy": _Walk.policy,
    },
    Operation: {
        "endpoint": _Walk.text,
        "idempotencyKey": _Walk.key,
        "requestHash": _Walk.hash,
        "body": _Walk.body,
    },
    Attempt: {
        "outcome": _chooser(Outcome),
        "phase": _chooser(Phase),
        "costUnits": _Walk.units,
    },
    PriorRecord: {
        "status": _chooser(RecordStatus),
        "requestHash": _Walk.hash,
        "writeCommitted": _Walk.committed,
    },
    Policy: {"failureThreshold": _Walk.threshold, "budgetUnits": _Walk.units},
}

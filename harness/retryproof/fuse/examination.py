"""The slow reader: walks a decoded input and finds all of its problems in one pass.

msgspec stops at the first problem, and refuses some inputs that the contract allows: 1.0 for
the integer 1, or a cost with more digits than a double holds. What it refuses comes here.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from retryproof_protocol.strictjson import element_path, member_path

from .attempts import MAX_ATTEMPTS, Outcome, Phase
from .description import describe, describe_length, problem_at
from .fingerprint import BodyError, body_problems, fingerprint_of
from .numerals import LARGEST_NUMBER, as_integer, as_number
from .report import Problem
from .request import (
    CONTRACT_VERSION,
    MAX_KEY_CHARACTERS,
    RecordStatus,
    normalized_hash,
)

MAX_PROBLEMS = 100
"""More are counted, not listed: nobody reads them, and hostile input could hold millions."""

_Reader: TypeAlias = Callable[[Any, str], Any]


class Examination(Struct, frozen=True):
    """What was found: the input as msgspec takes it if there are no problems, else nothing."""

    value: Any
    problems: tuple[Problem, ...]


def examine(value: Any) -> Examination:
    """Reads a decoded input, whatever it is. Fractions may be there as numerals."""
    walk = _Walk()
    read = walk.request(value)
    return Examination(None if walk.problems else read, tuple(walk.problems))


class _Walk:
    """Reads part after part. Each method takes a value and its path, and returns it as read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._unlisted = 0

    def request(self, value: Any, path: str = "") -> Any:
        readers: Mapping[str, _Reader] = {
            "contractVersion": self._version,
            "operation": self._operation,
            "attempts": self._attempts,
            "priorRecord": self._record,
            "policy": self._policy,
        }
        return self._object(value, path, readers, required="operation")

    def _operation(self, value: Any, path: str) -> Any:
        readers: Mapping[str, _Reader] = {
            "endpoint": self._text,
            "idempotencyKey": self._key,
            "requestHash": self._hash,
            "body": self._body,
        }
        read = self._object(value, path, readers, required="endpoint")
        if read and isinstance(read.get("requestHash"), str) and "body" in read:
            self._compare(read["requestHash"], read["body"], member_path(path, "requestHash"))
        return read

    def _attempts(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._refuse(path, f"must be an array of attempts, is {describe(value)}.")
        if len(value) > MAX_ATTEMPTS:
            return self._refuse(
                path, f"has {len(value):,} attempts; at most {MAX_ATTEMPTS:,} may be."
            )
        readers: Mapping[str, _Reader] = {
            "outcome": self._choice(Outcome),
            "phase": self._choice(Phase),
            "costUnits": self._units,
        }
        return [
            self._object(attempt, element_path(path, index), readers)
            for index, attempt in enumerate(value)
        ]

    def _record(self, value: Any, path: str) -> Any:
        readers: Mapping[str, _Reader] = {
            "status": self._choice(RecordStatus),
            "requestHash": self._hash,
            "writeCommitted": self._committed,
        }
        if value is None:
            return None
        return self._object(value, path, readers, kind="an object or null")

    def _policy(self, value: Any, path: str) -> Any:
        readers = {"failureThreshold": self._threshold, "budgetUnits": self._units}
        return self._object(value, path, readers)

    def _object(
        self,
        value: Any,
        path: str,
        readers: Mapping[str, _Reader],
        required: str | None = None,
        kind: str = "an object",
    ) -> Any:
        if not isinstance(value, dict):
            return self._refuse(path, f"must be {kind}, is {describe(value)}.")
        if required is not None and required not in value:
            self._refuse(member_path(path, required), "is missing.")
        read = {}
        for name, member in value.items():
            place = member_path(path, name)
            if name in readers:
                read[name] = readers[name](member, place)
            else:
                self._refuse(place, f"is not allowed here: only {', '.join(readers)}.")
        return read

    def _version(self, value: Any, path: str) -> Any:
        if as_integer(value) != CONTRACT_VERSION:
            self._refuse(path, f"must be the integer {CONTRACT_VERSION}, is {describe(value)}.")
        return CONTRACT_VERSION

    def _text(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or not value.strip():
            self._refuse(path, f"must be a string that is not blank, is {describe(value)}.")
        return value

    def _key(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or len(value) <= MAX_KEY_CHARACTERS:
            return self._text(value, path)
        return self._refuse(
            path, f"has {len(value):,} characters; at most {MAX_KEY_CHARACTERS} may be."
        )

    def _hash(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            with suppress(ValueError):
                return normalized_hash(value)
        return self._refuse(
            path,
            f"must be a sha256 of 64 hex digits, is {describe(value)}{describe_length(value)}.",
        )

    def _body(self, value: Any, path: str) -> Any:
        for place, problem in body_problems(value, path):
            self._refuse(place, problem)
        return value

    def _compare(self, given: str, body: Any, path: str) -> None:
        try:
            computed = fingerprint_of(body)
        except BodyError:
            return  # It has been refused by itself.
        if given != computed:
            self._refuse(path, f"is not the fingerprint of the body beside it, {computed}.")

    def _committed(self, value: Any, path: str) -> Any:
        if not isinstance(value, bool) and value != "unknown":
            self._refuse(path, f'must be true, false or "unknown", is {describe(value)}.')
        return value

    def _choice(self, choices: Any) -> _Reader:
        *others, last = (f'"{choice}"' for choice in get_args(choices))

        def read(value: Any, path: str) -> Any:
            if not isinstance(value, str) or value not in get_args(choices):
                self._refuse(path, f"must be {', '.join(others)} or {last}, is {describe(value)}.")
            return value

        return read

    def _threshold(self, value: Any, path: str) -> Any:
        integer = as_integer(value)
        if integer is None or not 1 <= integer <= LARGEST_NUMBER:
            self._refuse(path, f"must be an integer from 1, is {describe(value)}.")
        return integer

    def _units(self, value: Any, path: str) -> Any:
        number = as_number(value)
        if number is None or not 0 <= number <= LARGEST_NUMBER:
            self._refuse(path, f"must be a finite number from 0, is {describe(value)}.")
        return number

    def _refuse(self, path: str, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem_at(path, message))
            return
        self._unlisted += 1
        self.problems[MAX_PROBLEMS:] = [Problem("", f"has {self._unlisted:,} more problems.")]

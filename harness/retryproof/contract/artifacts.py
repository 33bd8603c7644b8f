"""Counterexample artifacts of the mission `retry-proof`: reading, refusing, normalizing.

An artifact names a fault and lists operations, and nothing else: whether it tells the fault
from the reference is computed, never claimed.
"""

import hashlib
import re
from typing import Any

import msgspec
from msgspec import Struct
from retryproof_protocol.answers import as_integer, describe_type
from retryproof_protocol.messages import Operation
from retryproof_protocol.quoting import shown_name
from retryproof_protocol.strictjson import StrictJSONError, decode, element_path, member_path

from .bundle import Mission
from .model import FAULTS

_OPERATION_MEMBERS = ("at", "key", "value", "delivery")
_CHOICES = {"key": ("A", "B"), "value": ("A", "B"), "delivery": ("received", "lost")}
_RECEIPT_HASH = re.compile(r"(sha256:)?[0-9a-f]{64}")


class Artifact(Struct, frozen=True):
    """A fault's name, and the operations that are to reveal it."""

    target: str
    steps: tuple[Operation, ...]

    def normalized(self) -> bytes:
        """The one compact form in UTF-8; members in the order of the specification."""
        return msgspec.json.encode(self)

    def digest(self) -> str:
        """`sha256:` and the hash of the normalized form."""
        return "sha256:" + hashlib.sha256(self.normalized()).hexdigest()


class Problem(Struct, frozen=True):
    """What is wrong at a place of the submitted text; path "" is the whole of it."""

    path: str
    message: str


class Submission(Struct, frozen=True):
    """What was read: the artifact, or the problems that stood in its way."""

    artifact: Artifact | None
    parent: str | None
    problems: tuple[Problem, ...]


def read_submission(data: bytes, mission: Mission) -> Submission:
    """Reads an artifact, or its submission wrapper, from the bytes as they were sent."""
    try:
        document = decode(data)
    except StrictJSONError as error:
        return Submission(None, None, (Problem(error.path, f"{error.problem}."),))
    reader = _Reader(mission)
    if isinstance(document, dict) and "artifact" in document:
        return reader.read_wrapper(document, len(data))
    return reader.read_bare(document)


class _Reader:
    """Walks one document and collects its problems, all of them in one pass."""

    def __init__(self, mission: Mission) -> None:
        self._mission = mission
        self._problems: list[Problem] = []

    def read_wrapper(self, document: dict[str, Any], size_bytes: int) -> Submission:
        limit = self._mission.max_submission_bytes
        if size_bytes > limit:
            self._refuse("", f"is {size_bytes:,} bytes; a submission has at most {limit:,}.")
        self._refuse_unknown_members(document, "", ("artifact", "parent"))
        parent = document.get("parent")
        if "parent" in document and not _is_receipt_hash(parent):
            self._refuse("parent", "must be a receipt hash: 64 hex digits in lower case.")
            parent = None
        return self._conclude(self._read_artifact(document["artifact"], "artifact"), parent)

    def read_bare(self, document: Any) -> Submission:
        return self._conclude(self._read_artifact(document, ""), None)

    def _conclude(self, artifact: Artifact | None, parent: str | None) -> Submission:
        valid = artifact if not self._problems else None
        return Submission(valid, parent, tuple(self._problems))

    def _read_artifact(self, value: Any, path: str) -> Artifact | None:
        members = self._object_members(value, path, ("target", "steps"))
        if members is None:
            return None
        target = self._read_target(members["target"], member_path(path, "target"))
        steps = self._read_steps(members["steps"], member_path(path, "steps"))
        if target is None or None in steps:
            return None
        artifact = Artifact(target, tuple(step for step in steps if step is not None))
        limit = self._mission.max_artifact_bytes
        if (size_bytes := len(artifact.normalized())) > limit:
            self._refuse(path, f"is {size_bytes:,} bytes in normal form; the limit is {limit:,}.")
        return artifact

    def _read_target(self, value: Any, path: str) -> str | None:
        if isinstance(value, str) and value in FAULTS:
            return value
        self._refuse(path, f"{_but_is(value)} must be one of {', '.join(FAULTS)}.")
        return None

    def _read_steps(self, value: Any, path: str) -> list[Operation | None]:
        if not isinstance(value, list):
            self._refuse(path, f"must be an array of operations, is {describe_type(value)}.")
            return [None]
        fewest, most = self._mission.min_operations, self._mission.max_operations
        if not fewest <= len(value) <= most:
            self._refuse(path, f"has {len(value):,} operations; {fewest} to {most} are allowed.")
            return [None]
        steps = [self._read_operation(step, element_path(path, i)) for i, step in enumerate(value)]
        self._refuse_backward_ticks(steps, path)
        return steps

    def _read_operation(self, value: Any, path: str) -> Operation | None:
        members = self._object_members(value, path, _OPERATION_MEMBERS)
        if members is None:
            return None
        at = self._read_tick(members["at"], member_path(path, "at"))
        chosen = [self._read_choice(members[name], path, name) for name in _CHOICES]
        return None if at is None or None in chosen else Operation(at, *chosen)  # type: ignore[arg-type]

    def _read_tick(self, value: Any, path: str) -> int | None:
        first, last = self._mission.min_tick, self._mission.max_tick
        tick = as_integer(value)
        if tick is None:
            self._refuse(path, f"{_but_is(value)} must be a whole number, {first} to {last}.")
            return None
        if not first <= tick <= last:
            self._refuse(path, f"is outside the ticks {first} to {last}.")
            return None
        return tick

    def _read_choice(self, value: Any, path: str, name: str) -> str | None:
        choices = _CHOICES[name]
        if isinstance(value, str) and value in choices:
            return value
        alternatives = " or ".join(f'"{choice}"' for choice in choices)
        self._refuse(member_path(path, name), f"{_but_is(value)} must be {alternatives}.")
        return None

    def _object_members(
        self, value: Any, path: str, names: tuple[str, ...]
    ) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            self._refuse(path, f"must be an object, is {describe_type(value)}.")
            return None
        self._refuse_unknown_members(value, path, names)
        missing = [name for name in names if name not in value]
        for name in missing:
            self._refuse(member_path(path, name), "is missing.")
        return None if missing else value

    def _refuse_unknown_members(
        self, members: dict[str, Any], path: str, names: tuple[str, ...]
    ) -> None:
        for name in members:
            if name not in names:
                allowed = ", ".join(names)
                self._refuse(member_path(path, name), f"is not allowed here: only {allowed}.")

    def _refuse_backward_ticks(self, steps: list[Operation | None], path: str) -> None:
        latest = self._mission.min_tick
        for index, step in enumerate(steps):
            if step is None:
                continue
            if step.at < latest:
                place = member_path(element_path(path, index), "at")
                self._refuse(place, f"goes back from tick {latest} to {step.at}.")
            latest = max(latest, step.at)

    def _refuse(self, path: str, message: str) -> None:
        self._problems.append(Problem(path, message))


def _is_receipt_hash(value: Any) -> bool:
    return isinstance(value, str) and _RECEIPT_HASH.fullmatch(value) is not None


def _but_is(value: Any) -> str:
    if isinstance(value, str):
        return f'is the string "{shown_name(value)}"; it'
    if type(value) is float:
        return f"is {value}; it"
    return f"is {describe_type(value)}; it"

"""Other dialects, declared: status codes and the last tick may differ, the promises may not.

A profile says which codes a service answers and whether a record is still live at its deadline.
It is parameters of the one model, and nothing in it can excuse a second write for a matching
retry, another receipt, a write for a refused mismatch, an original that can't be replayed after
one, or a deadline that replays move: those are no parameters.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from retryproof_protocol.messages import Observation, Operation
from retryproof_protocol.quoting import shown_name

from .bundle import Bundle, Case
from .model import REFERENCE, Model, Rules

Codes: TypeAlias = tuple[int, ...]
MIN_CODE, MAX_CODE = 100, 599


class Profile(Struct, frozen=True, rename="camel"):
    """A declared dialect. The defaults are the contract's own.

    Attributes:
        name: what the report calls it.
        create: the codes of a created write.
        replay: the codes of a replay, or "same": that of the answer it replays.
        conflict: the codes of a refused other body.
        expires_at_deadline: whether a record is gone at its deadline. If it is still live then,
            the model holds it through that tick, and the cases' later ticks move by one.
    """

    name: str
    create: Codes = (201,)
    replay: Codes | Literal["same"] = (200,)
    conflict: Codes = (409,)
    expires_at_deadline: bool = True

    def rules(self, contract: Rules) -> Rules:
        """The contract's numbers in this dialect, of several codes the first."""
        held_through = 0 if self.expires_at_deadline else 1
        return replace(
            contract,
            retention_ticks=contract.retention_ticks + held_through,
            create_status=self.create[0],
            replay_status=self.create[0] if self.replay == "same" else self.replay[0],
            conflict_status=self.conflict[0],
        )


SEED = Profile("seed")
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            SEED,
            Profile("ietf", replay="same", conflict=(422,)),
            Profile("stripe", replay="same", conflict=(400,)),
        )
    }
)
"""The profiles with a name of their own. `ietf`: the draft of the Idempotency-Key header."""


class ProfileError(ValueError):
    """A profile can't be read; the message names the key."""


class ProfileDeviation(Struct, frozen=True):
    """In what a profile differs from the contract: a key, its value, the contract's own."""

    name: str
    value: Any
    standard: Any


def deviations_of(profile: Profile) -> tuple[ProfileDeviation, ...]:
    """Each key in which the profile differs from the contract, in the order of its definition."""
    return tuple(
        ProfileDeviation(field, getattr(profile, field), getattr(SEED, field))
        for field in _KEYS
        if getattr(profile, field) != getattr(SEED, field)
    )


def profiled(bundle: Bundle, profile: Profile) -> Bundle:
    """The contract in this dialect: its rules, its cases' ticks, and what they expect."""
    cases = tuple(profiled_case(case, profile, bundle.rules) for case in bundle.cases)
    return replace(bundle, rules=profile.rules(bundle.rules), cases=cases)


def profiled_case(case: Case, profile: Profile, contract: Rules = REFERENCE.rules) -> Case:
    """One case of the contract in this dialect."""
    moved_from = None if profile.expires_at_deadline else contract.retention_ticks
    steps = tuple(_moved_steps(case.steps, moved_from))
    return replace(case, steps=steps, expected=Model(profile.rules(contract)).trace(steps))


def as_expected(
    profile: Profile, case: Case, observations: Sequence[Observation]
) -> tuple[Observation, ...]:
    """The observations of a case's first steps, each accepted code in place of the expected one.

    So they can be compared with any trace of the profiled models. A code that the profile does
    not accept at that step stays as it is.
    """
    created_status: dict[int, int] = {}
    read = []
    for expected, seen in zip(case.expected, observations, strict=False):
        accepted = _accepted_codes(profile, case, expected, created_status)
        if seen.status is not None and seen.receipt is not None:
            created_status.setdefault(seen.receipt, seen.status)
        read.append(_as_expected(seen, expected, accepted))
    return tuple(read)


def _as_expected(seen: Observation, expected: Observation, accepted: Codes) -> Observation:
    if seen.status in accepted:
        return replace(seen, status=expected.status)
    if accepted and seen.status == expected.status:
        # The first of several codes, where the answer that is replayed had another of them.
        return replace(seen, status=None)
    return seen


def read_profile(name: str, document: Mapping[str, Any]) -> Profile:
    """The profile in a TOML file's content.

    Raises:
        ProfileError: an unknown key, a value of another form, or codes that can't be told apart.
    """
    for key in document:
        if key not in _KEYS:
            nearest = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(_KEYS)}."
            raise ProfileError(f"{shown_name(key)} is no key of a profile: {hint}")
    values = {key: _read_value(key, value) for key, value in document.items()}
    profile = Profile(name, **values)
    replayed = () if profile.replay == "same" else profile.replay
    if shared := sorted(set(profile.conflict) & {*profile.create, *replayed}):
        raise ProfileError(
            f"conflict has the code {shared[0]}, which is a success as well: a caller could not "
            "tell a refusal from it."
        )
    return profile


_KEYS = ("create", "replay", "conflict", "expires_at_deadline")


def _read_value(key: str, value: Any) -> Any:
    if key == "expires_at_deadline":
        if isinstance(value, bool):
            return value
        raise ProfileError("expires_at_deadline must be true or false.")
    if key == "replay" and value == "same":
        return value
    codes = value if isinstance(value, list) else [value]
    if codes and all(type(code) is int and MIN_CODE <= code <= MAX_CODE for code in codes):
        return tuple(codes)
    same = ' or "same"' if key == "replay" else ""
    raise ProfileError(f"{key} must be status codes {MIN_CODE} to {MAX_CODE}{same}.")


def _moved_steps(steps: Sequence[Operation], moved_from: int | None) -> Iterator[Operation]:
    for step in steps:
        is_moved = moved_from is not None and step.at >= moved_from
        yield replace(step, at=step.at + 1) if is_moved else step


def _accepted_codes(
    profile: Profile, case: Case, expected: Observation, created_status: Mapping[int, int]
) -> Codes:
    """The codes that the profile accepts where the model expects this observation."""
    if expected.status is None:
        return ()
    if expected.receipt is None:
        return profile.conflict
    if _is_first_of_its_receipt(case, expected):
        return profile.create
    if profile.replay != "same":
        return profile.replay
    # Of an answer that was lost nobody knows the code: any that a create may have will do.
    known = created_status.get(expected.receipt)
    return profile.create if known is None else (known,)


def _is_first_of_its_receipt(case: Case, expected: Observation) -> bool:
    """Whether this is the answer to the request that made the write, and no replay of it."""
    writes_before = 0
    for observation in case.expected:
        if observation is expected:
            return observation.committed_writes > writes_before
        writes_before = observation.committed_writes
    return False

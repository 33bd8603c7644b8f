"""What is asked: may this operation be sent again? The types, as the contract defines them.

Source: the table "Input" of the retryfuse contract, version 1. A member that is left out is
`UNSET`, unless the table gives it a default; null stands for a left-out record alone.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from .fingerprint import fingerprint_of
from .numerals import LARGEST_NUMBER

CONTRACT_VERSION: Literal[1] = 1
MAX_ATTEMPTS = 10_000
MAX_KEY_CHARACTERS = 255
DEFAULT_FAILURE_THRESHOLD = 5
DEFAULT_BUDGET_UNITS = 100

_HASH_BYTES = 32
_INT64_LIMIT = 2**63 - 1
"""msgspec compares no integer beyond it; larger ones are read the slow way."""

Outcome: TypeAlias = Literal["success", "failure", "timeout", "unknown"]
Phase: TypeAlias = Literal["pre_write", "post_write", "unknown"]
RecordStatus: TypeAlias = Literal["in_flight", "completed"]
Units: TypeAlias = (
    Annotated[int, Meta(ge=0, le=_INT64_LIMIT)]
    | Annotated[float, Meta(ge=0, le=LARGEST_NUMBER)]
    | Decimal
)
"""Any unit of cost. A float means the decimal number that it prints as: 0.1 is a tenth."""


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the input: immutable, its members in camelCase and no other."""


class Operation(_Part, frozen=True):
    """The call that is guarded.

    Attributes:
        endpoint: what is called; not blank.
        idempotency_key: 1 to 255 characters (Unicode code points), not blank.
        request_hash: the fingerprint, 64 hex digits; held in lower case. Computed from `body`
            if that is given.
        body: any JSON value, None as null included.

    Raises:
        ValueError: a string out of these bounds, a body without a fingerprint, or one whose
            fingerprint is not the given `request_hash`.
    """

    endpoint: str
    idempotency_key: Annotated[str, Meta(max_length=MAX_KEY_CHARACTERS)] | UnsetType = UNSET
    request_hash: str | UnsetType = UNSET
    body: Any = UNSET

    def __post_init__(self) -> None:
        _refuse_blank(self.endpoint, "endpoint")
        if self.idempotency_key is not UNSET:
            _refuse_blank(self.idempotency_key, "idempotency_key")
            if len(self.idempotency_key) > MAX_KEY_CHARACTERS:
                raise ValueError(
                    f"idempotency_key must have at most {MAX_KEY_CHARACTERS} characters"
                )
        _normalize_hash(self)
        if self.body is not UNSET:
            fingerprint = fingerprint_of(self.body)
            if self.request_hash not in (UNSET, fingerprint):
                raise ValueError("request_hash is not the fingerprint of body")
            msgspec.structs.force_setattr(self, "request_hash", fingerprint)


class Attempt(_Part, frozen=True, gc=False):
    """An attempt that was made before.

    Attributes:
        outcome: how it ended for the caller.
        phase: where it was then: certainly before the write, certainly after its start, or
            not known.
        cost_units: what it took from the budget; finite, at least 0.
    """

    outcome: Outcome = "unknown"
    phase: Phase = "unknown"
    cost_units: Units = 1


class PriorRecord(_Part, frozen=True):
    """The idempotency record that the service holds.

    Attributes:
        status: how far the request is that left it; uncertain if left out.
        request_hash: that request's fingerprint, 64 hex digits; held in lower case.
        write_committed: whether its effect is confirmed.

    Raises:
        ValueError: `request_hash` is no fingerprint.
    """

    status: RecordStatus | UnsetType = UNSET
    request_hash: str | UnsetType = UNSET
    write_committed: bool | Literal["unknown"] = "unknown"

    def __post_init__(self) -> None:
        _normalize_hash(self)


class Policy(_Part, frozen=True):
    """When the circuit opens.

    Attributes:
        failure_threshold: so many attempts without success in a row, at least 1.
        budget_units: so many units of cost, finite, at least 0.

    Raises:
        ValueError: a number out of these bounds.
    """

    failure_threshold: Annotated[int, Meta(ge=1)] = DEFAULT_FAILURE_THRESHOLD
    budget_units: Units = DEFAULT_BUDGET_UNITS

    def __post_init__(self) -> None:
        if not 1 <= self.failure_threshold <= LARGEST_NUMBER:
            raise ValueError("failure_threshold must be an integer from 1")
        if not 0 <= self.budget_units <= LARGEST_NUMBER:
            raise ValueError("budget_units must be a finite number from 0")


class Request(_Part, frozen=True):
    """The whole question. `attempts` are in the order in which they were made, at most 10,000."""

    operation: Operation
    contract_version: Literal[1] = CONTRACT_VERSION
    attempts: Annotated[tuple[Attempt, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
    prior_record: PriorRecord | None = None
    policy: Policy = Policy()


def is_hash(text: str) -> bool:
    """Whether this is a fingerprint in either case: 64 hex digits."""
    try:
        return len(text) == 2 * _HASH_BYTES and len(bytes.fromhex(text)) == _HASH_BYTES
    except ValueError:
        return False


def _normalize_hash(part: Operation | PriorRecord) -> None:
    if part.request_hash is not UNSET:
        if not is_hash(part.request_hash):
            raise ValueError("request_hash must be 64 hex digits")
        msgspec.structs.force_setattr(part, "request_hash", part.request_hash.lower())


def _refuse_blank(text: str, name: str) -> None:
    if not text.strip():
        raise ValueError(f"{name} must not be blank")

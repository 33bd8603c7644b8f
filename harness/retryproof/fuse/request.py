"""What is asked: may this operation be sent again? The types, as the contract defines them.

Source: the table "Input" of the retryfuse contract, version 1. A member that is left out is
`UNSET`, and counts as what that table says for it; null stands for a left-out record alone.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr

from .attempts import MAX_ATTEMPTS, Attempt, Part, Units, sum_up
from .fingerprint import fingerprint_of
from .numerals import LARGEST_NUMBER, is_amount

CONTRACT_VERSION: Literal[1] = 1
MAX_KEY_CHARACTERS = 255
_HASH_DIGITS = 64
DEFAULT_FAILURE_THRESHOLD = 5
DEFAULT_BUDGET_UNITS = 100

RecordStatus: TypeAlias = Literal["in_flight", "completed"]


class Operation(Part, frozen=True):
    """The call that is guarded.

    Attributes:
        endpoint: what is called; not blank.
        idempotency_key: 1 to 255 characters (Unicode code points), not blank.
        request_hash: the fingerprint, 64 hex digits; held in lower case. Left out: that of
            `body`, if there is one.
        body: any JSON value, None as null included.

    Raises:
        ValueError: a string out of these bounds, or a body whose fingerprint is not the given
            `request_hash`.
    """

    endpoint: str
    idempotency_key: str | UnsetType = UNSET
    request_hash: str | UnsetType = UNSET
    body: Any = UNSET

    def __post_init__(self) -> None:
        if not self.endpoint.strip():
            raise ValueError("endpoint must not be blank")
        key = self.idempotency_key
        if key is not UNSET and not (key.strip() and len(key) <= MAX_KEY_CHARACTERS):
            raise ValueError(f"idempotency_key must have 1 to {MAX_KEY_CHARACTERS} characters")
        if self.request_hash is not UNSET:
            _normalize_hash(self, self.request_hash)
            if self.body is not UNSET and self.request_hash != fingerprint_of(self.body):
                raise ValueError("request_hash is not the fingerprint of body")

    def check(self) -> None:  # noqa: D102
        self.fingerprint()

    def fingerprint(self) -> str | None:
        """What stands for the request, 64 hex digits in lower case; None if it is not known.

        Raises:
            BodyError: there is nothing but a body, and it has no fingerprint.
        """
        if self.request_hash is not UNSET:
            return self.request_hash
        return None if self.body is UNSET else fingerprint_of(self.body)


class PriorRecord(Part, frozen=True):
    """The idempotency record that the service holds.

    Attributes:
        status: how far the request is that left it. Left out: uncertain.
        request_hash: that request's fingerprint, 64 hex digits; held in lower case. Left out:
            it cannot be compared.
        write_committed: whether its effect is confirmed. Left out: unknown.

    Raises:
        ValueError: `request_hash` is no fingerprint.
    """

    status: RecordStatus | UnsetType = UNSET
    request_hash: str | UnsetType = UNSET
    write_committed: bool | Literal["unknown"] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.request_hash is not UNSET:
            _normalize_hash(self, self.request_hash)


class Policy(Part, frozen=True):
    """When the circuit opens.

    Attributes:
        failure_threshold: so many attempts without success in a row, at least 1. Left out: 5.
        budget_units: so many units of cost, finite, at least 0. Left out: 100.

    Raises:
        ValueError: a number out of these bounds, or something else than a number.
    """

    failure_threshold: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    budget_units: Units | UnsetType = UNSET

    def __post_init__(self) -> None:
        threshold, budget = self.failure_threshold, self.budget_units
        if threshold is not UNSET and not 1 <= threshold <= LARGEST_NUMBER:
            raise ValueError("failure_threshold must be an integer from 1")
        if budget is not UNSET and not is_amount(budget):
            raise ValueError("budget_units must be a finite number from 0")


class Request(Part, frozen=True):
    """The whole question.

    Attributes:
        operation: the call that is guarded.
        contract_version: the integer 1, and so if left out.
        attempts: in the order in which they were made, at most 10,000.
        prior_record: None if there is none, and so if left out.
        policy: when the circuit opens.
    """

    operation: Operation
    contract_version: Literal[1] | UnsetType = UNSET
    attempts: Annotated[tuple[Attempt, ...], Meta(max_length=MAX_ATTEMPTS)] | UnsetType = UNSET
    prior_record: PriorRecord | UnsetType | None = UNSET
    policy: Policy | UnsetType = UNSET

    def check(self) -> None:  # noqa: D102
        self.operation.check()
        sum_up(self.attempts or ())


def normalized_hash(text: str) -> str:
    """The fingerprint in lower case, from 64 hex digits in either case.

    Raises:
        ValueError: it is something else.
    """
    try:
        normalized = bytes.fromhex(text).hex()
    except ValueError:
        normalized = ""
    # Spaces between the digits are read, too, but are gone then.
    if not len(text) == len(normalized) == _HASH_DIGITS:
        raise ValueError("request_hash must be 64 hex digits")
    return normalized


def _normalize_hash(part: Operation | PriorRecord, given: str) -> None:
    normalized = normalized_hash(given)
    if normalized != given:
        force_setattr(part, "request_hash", normalized)

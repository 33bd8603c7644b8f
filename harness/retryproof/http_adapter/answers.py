"""What a service's answers say: a receipt, a count of writes, or why neither. Pure."""

import json
from collections.abc import Mapping

from msgspec import Struct
from retryproof_protocol.quoting import quote_start

from .pointer import Header, JSONPointer, NotThereError, Where, describe, resolve
from .receipts import Receipt
from .templates import JSONValue

MAX_WRITES = 2**53
"""Up to here a JSON number is exact for every reader."""
_SHOWN_BYTES = 80


class CallError(Exception):
    """The service could not be driven: the adapter's own error, which is no observation.

    Args:
        place: the table and key of SERVICE.toml that this is about.
        problem: whole sentences that say what happened.
    """

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")


class NoAnswerError(CallError):
    """The request was sent, and its connection ended without a whole answer."""


class Answer(Struct, frozen=True):
    """An answer that was read whole. `source` says whose it is: "GET http://... (200)"."""

    source: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status says that the request was done."""
        return 200 <= self.status < 300


def require_success(answer: Answer, place: str) -> None:
    """Raises CallError where a request of the test itself was not done."""
    if not answer.is_success:
        start = f": {quote_start(answer.body, _SHOWN_BYTES)}" if answer.body else ""
        raise CallError(place, f"{answer.source} is no success{start}.")


def read_receipt(answer: Answer, where: Where) -> Receipt:
    """The receipt that the answer names.

    Raises:
        CallError: it names none.
    """
    place = "[step] receipt"
    if isinstance(where, Header):
        value: JSONValue = answer.headers.get(where.name)
        if value is None:
            raise CallError(place, f"{answer.source} has no header {where.name}.")
    else:
        value = _find(answer, where, place)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CallError(
            place, f"{answer.source} has {describe(value)}{_at(where)}, and no string or number."
        )
    return value


def read_count(answer: Answer, pointer: JSONPointer) -> int:
    """The number of writes that the answer has: a number, or the length of an array.

    Raises:
        CallError: it has none.
    """
    place = "[writes] count"
    value = _find(answer, pointer, place)
    if isinstance(value, list):
        return len(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_WRITES:
        return value
    raise CallError(
        place,
        f"{answer.source} has {describe(value)}{_at(pointer)}, and no whole number or array.",
    )


def _find(answer: Answer, pointer: JSONPointer, place: str) -> JSONValue:
    try:
        document: JSONValue = json.loads(answer.body)
    except (ValueError, RecursionError):
        shown = quote_start(answer.body, _SHOWN_BYTES) if answer.body else "it is empty"
        raise CallError(place, f"{answer.source} is not JSON: {shown}.") from None
    try:
        return resolve(pointer, document)
    except NotThereError as error:
        raise CallError(place, f"{answer.source} has nothing at {pointer.text}: {error}.") from None


def _at(where: Where) -> str:
    return f" at {where.text}" if isinstance(where, JSONPointer) and where.text else ""

"""From bytes to a request, or to everything that is wrong with them.

Source: the table "Input" of the retryfuse contract, version 1, and the refusals below it.
"""

from collections.abc import Iterable
from contextlib import suppress

import msgspec
from msgspec import UNSET
from retryproof_protocol.strictjson import StrictJSONError, decode

from .attempts import Attempt
from .decision import evaluate
from .description import problem_at
from .examination import examine
from .numerals import read_number
from .report import Answer, Unverified
from .request import PriorRecord, Request

MAX_INPUT_BYTES = 16 * 1024 * 1024

_decode_quickly = msgspec.json.Decoder(Request, float_hook=read_number).decode
_encode_again = msgspec.json.Encoder().encode
_BACKSLASH = ord("\\")
_ESCAPED_COLON = b"\\u003"


def evaluate_json(data: bytes) -> Answer:
    """The answer to one input: the report, or what is wrong with it. Nothing is raised."""
    quickly_read = read_quickly(data)
    if quickly_read is not None:
        try:
            return evaluate(quickly_read)
        except ValueError:
            pass  # It takes a closer look.
    request = read_closely(data)
    return evaluate(request) if isinstance(request, Request) else request


def read_request(data: bytes) -> Request | Unverified:
    """The request in `data`: one JSON object in UTF-8, at most 16 MiB, nested at most 100 deep."""
    quickly_read = read_quickly(data)
    if quickly_read is not None:
        with suppress(ValueError):
            quickly_read.check()
            return quickly_read
    return read_closely(data)


def read_quickly(data: bytes) -> Request | None:
    """The request, unless it takes a closer look to read it, or to say what is wrong.

    Costs and the body are not looked at. If `evaluate` refuses them, that takes a closer look
    as well.
    """
    if len(data) > MAX_INPUT_BYTES:
        return None
    try:
        request = _decode_quickly(data)
        return request if _is_whole(request, data) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_whole(request: Request, data: bytes) -> bool:
    """Whether msgspec surely dropped no member of `data`, as it does with a repeated one.

    Each member has a colon, and strings may have more: there are as many in what was read only
    if it is all of them. That holds unless a string has an escaped colon, which becomes a plain
    one.
    """
    colons = data.count(b":")
    # Counting members takes two thirds of the time, but finds too few if other strings have some.
    is_whole = colons == _count_colons(request) or colons == _encode_again(request).count(b":")
    return is_whole and (_BACKSLASH not in data or _ESCAPED_COLON not in data)


def _count_colons(request: Request) -> int:
    """The colons of all members, and of the body's strings, but of no other strings."""
    operation, record, policy = request.operation, request.prior_record, request.policy
    count = 2  # Of the operation and its endpoint.
    if request.contract_version is not UNSET:
        count += 1
    if operation.idempotency_key is not UNSET:
        count += 1
    if operation.request_hash is not UNSET:
        count += 1
    if operation.body is not UNSET:
        count += 1 + _encode_again(operation.body).count(b":")
    if request.attempts is not UNSET:
        count += 1 + _count_in_attempts(request.attempts)
    if record is not UNSET:
        count += 1 if record is None else 1 + _count_in_record(record)
    if policy is not UNSET:
        count += 1 + _encode_again(policy).count(b":")
    return count


def _count_in_attempts(attempts: Iterable[Attempt]) -> int:
    count = 0
    for attempt in attempts:
        if attempt.outcome is not UNSET:
            count += 1
        if attempt.phase is not UNSET:
            count += 1
        if attempt.cost_units is not UNSET:
            count += 1
    return count


def _count_in_record(record: PriorRecord) -> int:
    count = 0
    if record.status is not UNSET:
        count += 1
    if record.request_hash is not UNSET:
        count += 1
    if record.write_committed is not UNSET:
        count += 1
    return count


def read_closely(data: bytes) -> Request | Unverified:
    """As `read_request`, but slower: every problem is found, and named by its place."""
    if len(data) > MAX_INPUT_BYTES:
        return _refusal("", f"is {len(data):,} bytes; an input has at most {MAX_INPUT_BYTES:,}.")
    try:
        value = decode(data, float_hook=read_number)
    except StrictJSONError as error:
        return _refusal(error.path, f"{error.problem}.")
    examination = examine(value)
    return examination.request or Unverified(errors=examination.problems)


def _refusal(path: str, message: str) -> Unverified:
    return Unverified(errors=(problem_at(path, message),))

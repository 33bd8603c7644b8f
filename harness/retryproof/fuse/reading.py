"""From bytes to a request, or to everything that is wrong with them.

Source: the table "Input" of the retryfuse contract, version 1, and the refusals below it.
"""

from contextlib import suppress

import msgspec
from retryproof_protocol.strictjson import StrictJSONError, decode

from .decision import evaluate
from .description import problem_at
from .examination import examine
from .numerals import read_number
from .report import Answer, Unverified
from .request import Request

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
        is_whole = _encode_again(request).count(b":") == data.count(b":")
    except (msgspec.DecodeError, RecursionError):
        return None
    # As many colons when encoded again: msgspec dropped no member, as it does with a repeated
    # one. That holds unless a string had an escaped colon, which is encoded as a plain one.
    return request if is_whole and (_BACKSLASH not in data or _ESCAPED_COLON not in data) else None


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

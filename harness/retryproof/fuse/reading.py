"""From bytes to a request, or to everything that is wrong with them.

Source: the table "Input" of the retryfuse contract, version 1, and the refusals below it.
"""

from decimal import Decimal
from typing import Any

import msgspec
from retryproof_protocol.strictjson import StrictJSONError, decode

from .decision import evaluate
from .description import problem_at
from .examination import examine
from .numerals import read_number
from .report import Answer, Unverified
from .request import Request

MAX_INPUT_BYTES = 16 * 1024 * 1024


def evaluate_json(data: bytes) -> Answer:
    """The answer to one input: the report, or what is wrong with it. Nothing is raised."""
    request = read_request(data)
    return evaluate(request) if isinstance(request, Request) else request


def read_request(data: bytes) -> Request | Unverified:
    """The request in `data`: one JSON object in UTF-8, at most 16 MiB, nested at most 100 deep."""
    if len(data) > MAX_INPUT_BYTES:
        return _refusal("", f"is {len(data):,} bytes; an input has at most {MAX_INPUT_BYTES:,}.")
    try:
        value = decode(data, float_hook=read_number)
    except StrictJSONError as error:
        return _refusal(error.path, f"{error.problem}.")
    try:
        return _convert(value)
    except msgspec.ValidationError:
        return read_closely(value)


def read_closely(value: Any) -> Request | Unverified:
    """As `read_request`, from the decoded value: slower, but every problem is found."""
    examination = examine(value)
    if examination.problems:
        return Unverified(errors=examination.problems)
    return _convert(examination.value)


def _convert(value: Any) -> Request:
    # With Decimal as a built-in type, msgspec does not take a string for a number.
    return msgspec.convert(value, Request, builtin_types=(Decimal,))


def _refusal(path: str, message: str) -> Unverified:
    return Unverified(errors=(problem_at(path, message),))

"""A request as a SERVICE.toml writes it, with placeholders that can be filled. Pure."""

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .pointer import is_header_name
from .tables import RequestTable, ServiceFileError, suggestion
from .templates import CLOCK_PLACEHOLDERS, STEP_PLACEHOLDERS, JSONValue, placeholders

_REQUEST = re.compile(r"([A-Z]+) ((?:/|https?://)\S*)")


class Request(Struct, frozen=True):
    """An HTTP request with placeholders in it. `table` is where the file has it: "[step]"."""

    table: str
    method: str
    target: str
    headers: Mapping[str, str]
    json: JSONValue = None
    body: str | None = None


def parse_request(title: str, table: RequestTable, allowed: tuple[str, ...]) -> Request:
    """The request of the table of that title, in which only the allowed placeholders stand.

    Raises:
        ServiceFileError: it is no request that could be sent.
    """
    parts = _REQUEST.fullmatch(table.request or "")
    if parts is None:
        raise ServiceFileError(
            f'{title} request: "{table.request}" is no request; write a method and a path, such '
            'as "POST /orders".'
        )
    if table.json is not None and table.body is not None:
        raise ServiceFileError(f"{title} has both json and body; a request has one body.")
    for name, value in table.headers.items():
        _check_header(f"{title} headers", name, value)
    _check_json(f"{title} json", table.json)
    whole = {"request": parts[2], "headers": table.headers, "json": table.json, "body": table.body}
    for key, value in whole.items():
        _check_placeholders(f"{title} {key}", value, allowed)
    return Request(title, parts[1], parts[2], table.headers, table.json, table.body)


def _check_header(place: str, name: str, value: str) -> None:
    if not is_header_name(name):
        raise ServiceFileError(f'{place}: "{name}" is no name of a header.')
    if not (value.isascii() and value.isprintable()):
        raise ServiceFileError(f"{place}: the value of {name} is not plain ASCII.")


def _check_json(place: str, value: Any) -> None:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        raise ServiceFileError(f"{place}: JSON has no dates; write {value} in quotes.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ServiceFileError(f"{place}: JSON has no {value}.")
    if isinstance(value, dict):
        for name, member in value.items():
            _check_json(f"{place}.{name}", member)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            _check_json(f"{place}[{index}]", element)


def _check_placeholders(place: str, template: Any, allowed: tuple[str, ...]) -> None:
    for name in placeholders(template):
        if name in allowed:
            continue
        if name in STEP_PLACEHOLDERS:
            where = "[clock] and [step]" if name in CLOCK_PLACEHOLDERS else "[step]"
            raise ServiceFileError(f"{place}: {{{name}}} has a value in {where} only.")
        raise ServiceFileError(
            f"{place}: {{{name}}} is no placeholder. {suggestion(name, STEP_PLACEHOLDERS)} "
            "Text that is meant as it is has a space inside its braces."
        )

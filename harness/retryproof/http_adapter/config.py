"""A SERVICE.toml as what it means: requests, commands, and where the answers hold what. Pure.

Only `read_service` touches a file.
"""

import datetime
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import FileError, InvalidArgumentsError
from .pointer import JSONPointer, NoPointerError, Where, is_header_name, parse_pointer, parse_where
from .tables import (
    ClockTable,
    RequestTable,
    ResetTable,
    ServiceFileError,
    ServiceTables,
    StartTable,
    WritesTable,
    read_tables,
    reset_title,
    suggestion,
)
from .templates import CLOCK_PLACEHOLDERS, STEP_PLACEHOLDERS, JSONValue, placeholders

_ADVICE = "`retryproof init http` writes a commented file to start from."
_REQUEST = re.compile(r"([A-Z]+) ((?:/|https?://)\S*)")
_Value = TypeVar("_Value")


class Request(Struct, frozen=True):
    """An HTTP request with placeholders in it. `table` is where the file has it: "[step]"."""

    table: str
    method: str
    target: str
    headers: Mapping[str, str]
    json: JSONValue = None
    body: str | None = None


class Command(Struct, frozen=True):
    """A program to run, without a shell, in the file's folder."""

    table: str
    argv: tuple[str, ...]


class Start(Struct, frozen=True):
    """The command of the service itself, and how long it may take until it answers."""

    argv: tuple[str, ...]
    within_seconds: float


class Step(Struct, frozen=True):
    """The request that is tested, and where its answer names the write."""

    request: Request
    receipt: Where


class Writes(Struct, frozen=True):
    """Who is asked how many writes there are, and where the answer has the count."""

    source: Request | Command
    count: JSONPointer


class Service(Struct, frozen=True):
    """All that the adapter has to know. `clock` is a request, or the seconds of a tick."""

    base_url: str
    start: Start | None
    reset: tuple[Request | Command, ...]
    clock: Request | float
    step: Step
    writes: Writes


def read_service(path: Path) -> Service:
    """The service that the file describes.

    Raises:
        FileError: it can't be read.
        InvalidArgumentsError: it does not say what it has to, or something that it may not.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} can't be read: {error.strerror}.") from None
    try:
        return parse_service(text)
    except ServiceFileError as error:
        raise InvalidArgumentsError(f"{path}: {error}", _ADVICE) from None


def parse_service(text: bytes) -> Service:
    """The service that a SERVICE.toml of these bytes describes.

    Raises:
        ServiceFileError: see `read_service`.
    """
    try:
        document = tomllib.loads(text.decode())
    except UnicodeDecodeError as error:
        raise ServiceFileError(f"not UTF-8 at byte {error.start}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ServiceFileError(f"not TOML: {error}.") from None
    except RecursionError:
        raise ServiceFileError("nested too deeply.") from None
    tables = read_tables(document)
    return Service(
        base_url=_base_url(tables.base_url),
        start=_start(tables.start),
        reset=_resets(tables.reset),
        clock=_clock(tables.clock),
        step=_step(tables),
        writes=_writes(tables.writes),
    )


def _base_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_usable = is_usable and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ServiceFileError(
            f'base_url: "{text}" is no URL of a service, such as "http://127.0.0.1:8080".'
        )
    if parts.username is not None:
        # The report shows the URL.
        raise ServiceFileError("base_url must not hold a password: send a header instead.")
    return text.rstrip("/")


def _start(table: StartTable | None) -> Start | None:
    return None if table is None else Start(table.command, table.within_seconds)


def _resets(tables: tuple[ResetTable, ...]) -> tuple[Request | Command, ...]:
    return tuple(
        _request_or_command(reset_title(index, len(tables)), table)
        for index, table in enumerate(tables)
    )


def _clock(table: ClockTable) -> Request | float:
    _require_one("[clock]", {"request": table.request, "seconds_per_tick": table.seconds_per_tick})
    if table.seconds_per_tick is None:
        return _request("[clock]", table, CLOCK_PLACEHOLDERS)
    _refuse_request_keys("[clock]", table)
    return table.seconds_per_tick


def _step(tables: ServiceTables) -> Step:
    request = _request("[step]", tables.step, STEP_PLACEHOLDERS)
    try:
        return Step(request, parse_where(tables.step.receipt))
    except NoPointerError as error:
        raise ServiceFileError(f'[step] receipt: "{tables.step.receipt}" {error}') from None


def _writes(table: WritesTable) -> Writes:
    try:
        return Writes(_request_or_command("[writes]", table), parse_pointer(table.count))
    except NoPointerError as error:
        raise ServiceFileError(f'[writes] count: "{table.count}" {error}') from None


def _request_or_command(title: str, table: ResetTable | WritesTable) -> Request | Command:
    _require_one(title, {"request": table.request, "command": table.command})
    if table.command is None:
        return _request(title, table, ())
    _refuse_request_keys(title, table)
    return Command(title, table.command)


def _require_one(title: str, alternatives: Mapping[str, object]) -> None:
    given = [name for name, value in alternatives.items() if value is not None]
    if len(given) != 1:
        has = " and ".join(given) if given else "neither"
        raise ServiceFileError(
            f"{title} needs exactly one of {' and '.join(alternatives)}; it has {has}."
        )


def _refuse_request_keys(title: str, table: RequestTable) -> None:
    for name, value in (("headers", table.headers), ("json", table.json), ("body", table.body)):
        if value not in (None, {}):
            raise ServiceFileError(f"{title} {name} goes with a request, and there is none.")


def _request(title: str, table: RequestTable, allowed: tuple[str, ...]) -> Request:
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

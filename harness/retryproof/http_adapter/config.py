"""A SERVICE.toml as what it means: requests, commands, and where the answers hold what. Pure.

Only `read_service` touches a file.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import FileError, InvalidArgumentsError
from .pointer import JSONPointer, NoPointerError, Where, parse_pointer, parse_where
from .request import Request, parse_request
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
)
from .templates import CLOCK_PLACEHOLDERS, STEP_PLACEHOLDERS

_ADVICE = "`retryproof init http` writes a commented file to start from."


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
        # A pipe or a device may have no end.
        if path.exists() and not path.is_file() and not path.is_dir():
            raise FileError(f"{path} is not a regular file.")
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
        return parse_request("[clock]", table, CLOCK_PLACEHOLDERS)
    _refuse_request_keys("[clock]", table)
    return table.seconds_per_tick


def _step(tables: ServiceTables) -> Step:
    request = parse_request("[step]", tables.step, STEP_PLACEHOLDERS)
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
        return parse_request(title, table, ())
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

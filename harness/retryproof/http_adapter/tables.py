"""The tables and keys of a SERVICE.toml, and the words for a wrong form. Pure."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from retryproof_protocol.messages import MAX_SECONDS_PER_TICK

DEFAULT_START_SECONDS = 25.0
"""A little less than what the runner waits for the answer to `initialize`, which is 30 s."""
MAX_START_SECONDS = 3600.0

Arguments = Annotated[tuple[str, ...], Meta(min_length=1)]


class ServiceFileError(Exception):
    """The file does not say what it has to; the message names the table and the key."""


class Table(Struct, frozen=True, kw_only=True):
    """What each table's keys are, and of which types."""


class RequestTable(Table, frozen=True, kw_only=True):
    """The keys of a request, in each table that can hold one."""

    request: str | None = None
    headers: dict[str, str] = {}
    json: Any = None
    body: str | None = None


class StartTable(Table, frozen=True, kw_only=True):
    """`[start]`."""

    command: Arguments
    within_seconds: Annotated[float, Meta(gt=0, le=MAX_START_SECONDS)] = DEFAULT_START_SECONDS


class ResetTable(RequestTable, frozen=True, kw_only=True):
    """`[reset]`, or one of several `[[reset]]`."""

    command: Arguments | None = None


class ClockTable(RequestTable, frozen=True, kw_only=True):
    """`[clock]`."""

    seconds_per_tick: Annotated[float, Meta(gt=0, le=MAX_SECONDS_PER_TICK)] | None = None


class StepTable(RequestTable, frozen=True, kw_only=True):
    """`[step]`."""

    request: str
    receipt: str


class WritesTable(RequestTable, frozen=True, kw_only=True):
    """`[writes]`."""

    command: Arguments | None = None
    count: str = ""


class ServiceTables(Table, frozen=True, kw_only=True):
    """The whole file. A single `[reset]` is a tuple of one."""

    base_url: str
    clock: ClockTable
    step: StepTable
    writes: WritesTable
    start: StartTable | None = None
    reset: tuple[ResetTable, ...] = ()


_TABLES: dict[str, type[Table]] = {
    "start": StartTable,
    "reset": ResetTable,
    "clock": ClockTable,
    "step": StepTable,
    "writes": WritesTable,
}
_WHAT_IS_MISSING = {
    "base_url": 'where the service is, such as base_url = "http://127.0.0.1:8080"',
    "[clock]": "how ticks become time, with request or seconds_per_tick",
    "[step]": "the request that is tested, and where its answer has the receipt",
    "[step] request": 'the request that is tested, such as "POST /orders"',
    "[step] receipt": 'where the answer names its write, such as "/id" or "header:Location"',
    "[writes]": "how writes are counted apart from the answers, with request or command",
    "[start] command": 'how the service is started, such as ["python3", "service.py"]',
}
_TOML_WORDS = {
    "object": "table",
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "datetime": "date",
}


def read_tables(document: Mapping[str, Any]) -> ServiceTables:
    """The tables of a parsed file, each key known and of its type.

    Raises:
        ServiceFileError: a key is unknown, missing or of another type.
    """
    resets = document.get("reset", [])
    members = {**document, "reset": resets if isinstance(resets, list) else [resets]}
    _check_keys(members, ServiceTables, _top_level_place(members))
    for name, form in _TABLES.items():
        for title, table in _titled_tables(members, name):
            if not isinstance(table, dict):
                raise ServiceFileError(f"{title} must be a table.")
            _check_keys(table, form, _place_in(title))
    try:
        return msgspec.convert(members, ServiceTables)
    except msgspec.ValidationError as error:
        raise ServiceFileError(_in_toml_words(str(error), members)) from None


def reset_title(index: int, count: int) -> str:
    """What to call one of the file's resets."""
    return "[reset]" if count == 1 else f"[[reset]] number {index + 1}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question, or all of them."""
    names = tuple(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {near[0]}?" if near else f"There is {', '.join(names)}."


def _titled_tables(members: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    if name not in members:
        return []
    if name != "reset":
        return [(f"[{name}]", members[name])]
    resets = members[name]
    return [(reset_title(index, len(resets)), reset) for index, reset in enumerate(resets)]


def _top_level_place(members: Mapping[str, Any]) -> Callable[[str], str]:
    def place(name: str) -> str:
        is_table = name in _TABLES or isinstance(members.get(name), dict)
        return f"[{name}]" if is_table else name

    return place


def _place_in(title: str) -> Callable[[str], str]:
    return lambda key: f"{title} {key}"


def _check_keys(
    members: Mapping[str, Any], form: type[Table], place_of: Callable[[str], str]
) -> None:
    """Refuses unknown keys before it asks for missing ones: those may be the same, misspelt."""
    fields = {field.name: field for field in msgspec.structs.fields(form)}
    for name in members:
        if name not in fields:
            raise ServiceFileError(f"{place_of(name)} is not known. {suggestion(name, fields)}")
    for name, field in fields.items():
        if field.required and name not in members:
            place = place_of(name)
            raise ServiceFileError(f"{place} is missing: {_WHAT_IS_MISSING[place]}.")


def _in_toml_words(message: str, members: Mapping[str, Any]) -> str:
    """Msgspec's "Expected `str`, got `int` - at `$.step.request`" as this file's readers say it."""
    problem, _, path = message.partition(" - at ")
    words = re.sub(
        r"`(\w+)`",
        lambda word: _TOML_WORDS.get(word[1], word[1]),
        # A key may be left out, but TOML has no null to write.
        problem.replace(" | null", ""),
    )
    return f"{_place_of_path(path.strip('`'), members)}: {words[:1].lower()}{words[1:]}."


def _place_of_path(path: str, members: Mapping[str, Any]) -> str:
    table, _, key = path.removeprefix("$.").partition(".")
    if reset := re.fullmatch(r"reset\[(\d+)\]", table):
        title = reset_title(int(reset[1]), len(members["reset"]))
    else:
        title = f"[{table}]" if table in _TABLES else table
    return f"{title} {key}".rstrip()

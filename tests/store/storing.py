"""Stores of real files, and runs that differ in nothing but their id."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from retryproof.store.database import Database
from retryproof.store.runs import KeyUse, NewRun, RunRecord, RunStore

NOON = 1_750_000_000.0
"""Some Unix time."""
ROOM = 1_000
"""For more runs than a test queues."""


@contextmanager
def opened(file: Path) -> Iterator[RunStore]:
    """The store in the file, closed afterwards."""
    with closing(Database(file)) as database:
        yield RunStore(database)


def a_run(name: str, *, suite: str = "retry", client: str = "c") -> NewRun:
    """A run with this id."""
    return NewRun(name, suite, f"./{name}.py", client, b'{"request": "%b"}' % name.encode())


def accept(store: RunStore, name: str, key: str | None = None, **more: Any) -> RunRecord:
    """Has the store take the run, and gives what it has of it."""
    at = more.pop("at", NOON)
    use = None if key is None else KeyUse(key, "fingerprint")
    accepted = store.accept(a_run(name, **more), use, at, ROOM)
    assert accepted.ruling == "create"
    return known(store, name)


def known(store: RunStore, name: str) -> RunRecord:
    """What the store has of a run that it has."""
    record = store.get(name)
    assert record is not None
    return record


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    """What another program sees in the database."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def pragma(file: Path, name: str) -> Any:
    """The value of one of SQLite's settings that are in the file."""
    ((value,),) = rows(file, f"PRAGMA {name}")
    return value

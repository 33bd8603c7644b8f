"""The file itself: made, brought to the newest version, refused where it is not ours to write."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from retryproof.errors import StoreRefusedError, StoreUnavailableError
from retryproof.store import database
from retryproof.store.database import APPLICATION_ID, Database

from tests.store.storing import NOON, ROOM, a_run, accept, known, opened, pragma, rows

SCRIPTS = database._migrations()
NEWEST = len(SCRIPTS)
SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"


@contextmanager
def connected(file: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection to the file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


def make_version(file: Path, version: int) -> None:
    """The file as a retryproof of this version has left it."""
    with connected(file) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(";".join(SCRIPTS[:version]))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {version}")


def beside(file: Path) -> dict[str, bytes]:
    """All files there, and what is in them."""
    return {path.name: path.read_bytes() for path in file.parent.iterdir()}


def test_a_fresh_file_is_marked_and_of_the_newest_version(file: Path) -> None:
    Database(file).close()
    assert pragma(file, "application_id") == APPLICATION_ID == int.from_bytes(b"rprf", "big")
    assert pragma(file, "user_version") == NEWEST
    assert pragma(file, "journal_mode") == "wal"


def test_a_file_that_is_there_and_empty_is_a_fresh_one(file: Path) -> None:
    file.touch(0o600)
    with opened(file) as store:
        accept(store, "one")


def test_what_was_kept_is_there_when_it_is_opened_again(file: Path) -> None:
    with opened(file) as store:
        record = accept(store, "one", "key")
    schema = rows(file, SCHEMA)
    for _ in range(2):
        with opened(file) as store:
            assert known(store, "one") == record
    assert rows(file, SCHEMA) == schema


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_every_older_version_is_brought_to_the_newest(
    file: Path, tmp_path_factory: pytest.TempPathFactory, version: int
) -> None:
    fresh = tmp_path_factory.mktemp("fresh") / "runs.sqlite3"
    Database(fresh).close()
    make_version(file, version)
    with opened(file) as store:
        accept(store, "one")
    assert rows(file, SCHEMA) == rows(fresh, SCHEMA)
    assert pragma(file, "user_version") == NEWEST


def with_migrations(monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
    """Lets the code know migrations that come after the newest."""
    monkeypatch.setattr(database, "_migrations", lambda: [*SCRIPTS, *scripts])


def test_a_further_migration_keeps_what_is_there(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(file) as store:
        record = accept(store, "one", "key")
    with_migrations(
        monkeypatch, "CREATE TABLE more (a); INSERT INTO more VALUES (1)", "DROP TABLE more"
    )
    with opened(file) as store:
        assert known(store, "one") == record
    assert pragma(file, "user_version") == NEWEST + 2


def test_a_migration_that_fails_leaves_the_version_before_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(file) as store:
        record = accept(store, "one")
    good, bad = "CREATE TABLE good (a)", "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1)"
    with_migrations(monkeypatch, good, bad)
    with pytest.raises(StoreUnavailableError, match="nowhere"):
        Database(file)
    assert pragma(file, "user_version") == NEWEST + 1
    assert rows(file, "SELECT name FROM sqlite_schema WHERE name IN ('good', 'half')") == [
        ("good",)
    ]
    with_migrations(monkeypatch, good)
    with opened(file) as store:
        assert known(store, "one") == record


@pytest.mark.parametrize("version", [NEWEST + 1, 999])
def test_a_newer_version_is_refused_and_left_alone(file: Path, version: int) -> None:
    with opened(file) as store:
        accept(store, "one")
    with connected(file) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = beside(file)
    with pytest.raises(StoreRefusedError) as refused:
        Database(file)
    assert refused.value.message == (
        f"{file} was written by a newer retryproof: its version is {version}, this one knows "
        f"{NEWEST}."
    )
    assert refused.value.advice == (
        "Start that retryproof, or another state folder. Nothing was changed in it."
    )
    assert beside(file) == before


@pytest.mark.parametrize("journal_mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("application", [0, 1, -APPLICATION_ID])
def test_another_programs_database_is_refused_and_left_alone(
    file: Path, application: int, journal_mode: str
) -> None:
    with connected(file) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute("CREATE TABLE runs (theirs)")
    before = beside(file)
    with pytest.raises(StoreRefusedError) as refused:
        Database(file)
    assert refused.value.message == f"{file} is a database, but none of retryproof's."
    assert "--state" in refused.value.advice
    assert beside(file) == before


@pytest.mark.parametrize("content", [b"hello", b"hello world" * 1000, b"SQLite format 3\0"])
def test_what_is_no_database_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreRefusedError) as refused:
        Database(file)
    assert refused.value.message.startswith(f"The database {file} is damaged: ")
    assert beside(file) == {file.name: content}


@pytest.mark.parametrize("keep_shared_memory", [True, False])
def test_what_a_killed_daemon_has_committed_is_there(
    file: Path, tmp_path_factory: pytest.TempPathFactory, keep_shared_memory: bool
) -> None:
    copy = tmp_path_factory.mktemp("copy") / file.name
    with opened(file) as store:
        record = accept(store, "one", "key")
        # As the disk is at the moment of a kill: nothing was closed, all of it is in the log.
        for name, content in beside(file).items():
            if keep_shared_memory or not name.endswith("-shm"):
                (copy.parent / name).write_bytes(content)
    assert (copy.parent / f"{file.name}-wal").stat().st_size > 0
    with opened(copy) as store:
        assert known(store, "one") == record


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077])
def test_nobody_else_can_read_any_of_its_files(file: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        with opened(file) as store:
            accept(store, "one")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    finally:
        os.umask(old)
    assert modes == {file.name + ending: 0o600 for ending in ("", "-wal", "-shm")}


def test_a_symlink_in_its_place_is_not_followed(file: Path, tmp_path: Path) -> None:
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailableError):
        Database(file)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "none" / "runs.sqlite3"
    with pytest.raises(StoreUnavailableError) as unavailable:
        Database(file)
    assert (
        unavailable.value.message
        == f"The database {file} can't be used: No such file or directory."
    )


def test_a_file_with_a_name_that_means_something_in_a_url(tmp_path: Path) -> None:
    file = tmp_path / "a?mode=rwc#b%20 é"
    for name in ("one", "two"):
        with opened(file) as store:
            accept(store, name)
    assert not [path for path in tmp_path.iterdir() if path != file]


def test_another_writer_makes_it_unavailable_for_a_while(file: Path) -> None:
    with opened(file) as store, connected(file) as other:
        accept(store, "one")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            store.accept(a_run("two"), None, NOON, ROOM)
        assert known(store, "one").state == "queued"
        other.execute("ROLLBACK")
        accept(store, "two")


def test_the_reader_never_writes(file: Path) -> None:
    with (
        closing(Database(file)) as ours,
        pytest.raises(StoreUnavailableError, match="readonly"),
        ours.reading() as connection,
    ):
        connection.execute("DELETE FROM runs")


def test_a_reader_sees_no_half_of_a_transaction(file: Path) -> None:
    with closing(Database(file)) as ours, ours.writing() as writer:
        writer.execute("INSERT INTO plans VALUES ('digest', x'')")
        with ours.reading() as reader:
            count: Any = reader.execute("SELECT count(*) FROM plans").fetchone()
        assert count == (0,)

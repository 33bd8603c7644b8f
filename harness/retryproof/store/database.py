"""The database file: opened, migrated, and never written if it is not known to be ours.

WAL and synchronous=FULL: what was committed survives the loss of power.
"""

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from ..errors import StoreRefusedError, StoreUnavailableError

APPLICATION_ID = 0x72707266
"""Marks the file as ours: "rprf" in ASCII."""
_BUSY_SECONDS = 2.0
"""Others may look into the database, for less than this; a daemon has it for itself to write."""
_MIGRATION_NAME = re.compile(r"(\d{4})_\w+\.sql")


class Database:
    """One connection that writes and one that reads, each used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Opens the file, makes it if there is none, and brings it to the newest version.

        Raises:
            StoreRefusedError: it is damaged, from a newer version, or not ours. It is unchanged.
            StoreUnavailableError: it is locked, or can't be read or written.
        """
        self._path = path
        self._write_lock, self._read_lock = threading.Lock(), threading.Lock()
        with self._telling():
            version = self._known_version(newest=len(_migrations()))
            # What SQLite puts beside it has the same mode.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
            self._writer = self._connect()
            try:
                self._migrate(version)
                self._reader = self._connect()
                self._reader.execute("PRAGMA query_only = ON")
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on the disk afterwards, or nothing.

        Raises:
            StoreUnavailableError: it could not be written.
        """
        give_up_at = time.monotonic() + _BUSY_SECONDS
        with self._write_lock, self._telling():
            # Who has waited for his turn has waited for the other program, too, if there is one:
            # a hundred requests must not wait for it one after the other.
            patience_seconds = max(0.0, give_up_at - time.monotonic())
            self._writer.execute(f"PRAGMA busy_timeout = {patience_seconds * 1000:.0f}")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A look that waits for no writer.

        Raises:
            StoreUnavailableError: it could not be read.
        """
        with self._read_lock, self._telling():
            yield self._reader

    def close(self) -> None:
        """Closes the file."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        # Variables of a run may be secrets, and are not to stay in free pages when it is over.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _migrate(self, version: int) -> None:
        self._writer.execute("PRAGMA journal_mode = WAL")
        for number, script in enumerate(_migrations()[version:], version + 1):
            self._writer.executescript(
                f"BEGIN IMMEDIATE; {script}; PRAGMA application_id = {APPLICATION_ID}; "
                f"PRAGMA user_version = {number}; COMMIT;"
            )

    def _known_version(self, newest: int) -> int:
        """The version of a file that may be written; looked up without writing."""
        if not self._path.exists() or self._path.stat().st_size == 0:
            return 0
        with closing(
            sqlite3.connect(self._unwritable(), uri=True, timeout=_BUSY_SECONDS)
        ) as connection:
            application, version, problem = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version", "quick_check(1)")
            )
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        if application != APPLICATION_ID:
            raise StoreRefusedError(
                f"{self._path} is a database, but none of retryproof's.", self._way_out()
            )
        if version > newest:
            raise StoreRefusedError(
                f"{self._path} was written by a newer retryproof: its version is {version}, this "
                f"one knows {newest}.",
                f"Start that retryproof, or another state folder. {_UNCHANGED}",
            )
        return int(version)

    def _unwritable(self) -> str:
        """The URL by which SQLite opens the file for reading alone."""
        log = self._path.with_name(f"{self._path.name}-wal")
        # Without a log to read there is no use for one, or SQLite would put one beside the file.
        return f"{self._path.as_uri()}?mode=ro{'' if log.exists() else '&immutable=1'}"

    def _way_out(self) -> str:
        return f"Move it away, or name another folder with --state. {_UNCHANGED}"

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailableError(
                f"The database {self._path} can't be used: {error.strerror}.", _WHAT_TO_CHECK
            ) from error
        except sqlite3.OperationalError as error:
            raise StoreUnavailableError(
                f"The database {self._path} can't be used: {error}.",
                _WHAT_TO_CHECK,
            ) from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise StoreRefusedError(
                f"The database {self._path} is damaged: {error}.", self._way_out()
            ) from error


_UNCHANGED = "Nothing was changed in it."
_WHAT_TO_CHECK = (
    "Is its disk full, or has another program locked it? `retryproof status` tells when it is back."
)


def _migrations() -> list[str]:
    """The scripts in their order; the first is number 1."""
    folder = files(__package__) / "migrations"
    scripts = {
        int(match[1]): file.read_text()
        for file in folder.iterdir()
        if (match := _MIGRATION_NAME.fullmatch(file.name))
    }
    if sorted(scripts) != list(range(1, len(scripts) + 1)):
        raise ValueError("the migrations are not numbered 1, 2, 3, ...")
    return [script for _, script in sorted(scripts.items())]

"""The runs and what happened in them."""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from .database import Database
from .idempotency import KeyRecord, Ruling, rule

State: TypeAlias = Literal["queued", "running", "finished", "cancelled", "interrupted"]
_PLAN_DIGEST_CHARACTERS = 32


class NewRun(Struct, frozen=True):
    """A run that is asked for. `submission` is JSON, `suite` to `client` are what lists show."""

    id: str
    suite: str
    adapter: str
    client: str
    submission: bytes


class KeyUse(Struct, frozen=True):
    """The Idempotency-Key of a request, and what stands for its body."""

    key: str
    fingerprint: str


class Accepted(Struct, frozen=True):
    """What became of a request for a run; `run` is the new or the first one, None if none."""

    ruling: Ruling | Literal["full"]
    run: str | None = None


class RunRecord(Struct, frozen=True):
    """A run as it is stored. Times are Unix times."""

    number: int
    id: str
    state: State
    suite: str
    adapter: str
    client: str
    idempotency_key: str | None
    submission: bytes
    created_at: float
    started_at: float | None
    ended_at: float | None
    verdict: str | None
    exit_status: int | None
    counts: bytes | None


class Filter(Struct, frozen=True):
    """Which runs are meant; what is left empty lets all through."""

    states: tuple[str, ...] = ()
    verdict: str | None = None
    suite: str | None = None
    client: str | None = None
    key: str | None = None


class Started(Struct, frozen=True):
    """The run is being driven through the cases of `plan`, JSON."""

    run: str
    at: float
    plan: bytes


class Happened(Struct, frozen=True):
    """An event of the run, as JSON, with its number in the run."""

    run: str
    sequence: int
    content: bytes


class Requeued(Struct, frozen=True):
    """The run is to be run again from its beginning."""

    run: str


class Over(Struct, frozen=True):
    """The run is over for good. `submission` replaces the one that was kept to run it."""

    run: str
    at: float
    state: State
    submission: bytes
    verdict: str | None = None
    exit_status: int | None = None
    counts: bytes | None = None


Entry: TypeAlias = Started | Happened | Requeued | Over


class RunStore:
    """Runs in a database. Each method raises StoreError where the database can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accept(self, run: NewRun, use: KeyUse | None, now: float, max_queued: int) -> Accepted:
        """Takes a run into the queue, unless its key says otherwise or the queue is full.

        It is on the disk when this returns.
        """
        with self._database.writing() as connection:
            if use is not None:
                record = _key_record(connection, use.key)
                ruling = rule(record, use.fingerprint, now)
                if ruling != "create" and record is not None:
                    return Accepted(ruling, record.run)
            if _count(connection, "state = 'queued'", ()) >= max_queued:
                return Accepted("full")
            connection.execute(
                "INSERT INTO runs (id, state, suite, adapter, client, idempotency_key, submission, "
                "created_at) VALUES (?, 'queued', ?, ?, ?, ?, ?, ?)",
                (
                    run.id,
                    run.suite,
                    run.adapter,
                    run.client,
                    None if use is None else use.key,
                    run.submission,
                    now,
                ),
            )
            if use is not None:
                connection.execute(
                    "REPLACE INTO idempotency_keys (key, fingerprint, run, created_at) "
                    "VALUES (?, ?, ?, ?)",
                    (use.key, use.fingerprint, run.id, now),
                )
        return Accepted("create", run.id)

    def known(self, use: KeyUse, now: float) -> Accepted | None:
        """What the key says about a request with it, None if it is free to make a run."""
        with self._database.reading() as connection:
            record = _key_record(connection, use.key)
        ruling = rule(record, use.fingerprint, now)
        return None if record is None or ruling == "create" else Accepted(ruling, record.run)

    def write(self, entries: Iterable[Entry]) -> None:
        """Records what happened, all of it or nothing, in this order."""
        with self._database.writing() as connection:
            for entry in entries:
                _write(connection, entry)

    def get(self, run: str) -> RunRecord | None:
        """The run with this id, if there is one."""
        found = self._select("WHERE id = ?", (run,))
        return found[0] if found else None

    def page(self, wanted: Filter, before: int | None, limit: int) -> list[RunRecord]:
        """The newest runs of those numbered below `before`, the newest first."""
        condition, values = _condition(wanted)
        if before is not None:
            condition, values = f"({condition}) AND number < ?", (*values, before)
        return self._select(f"WHERE {condition} ORDER BY number DESC LIMIT ?", (*values, limit))

    def count(self, wanted: Filter) -> int:
        """How many runs there are of those."""
        with self._database.reading() as connection:
            return _count(connection, *_condition(wanted))

    def waiting(self) -> list[tuple[str, str]]:
        """The id and the client of each queued run, the longest waiting first."""
        with self._database.reading() as connection:
            return connection.execute(
                "SELECT id, client FROM runs WHERE state = 'queued' ORDER BY number"
            ).fetchall()

    def running(self) -> list[RunRecord]:
        """The runs that are being driven, or were when the daemon died."""
        return self._select("WHERE state = 'running' ORDER BY number", ())

    def events(self, run: RunRecord, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Events of the run, with their numbers, from the first one after `after` on."""
        with self._database.reading() as connection:
            return connection.execute(
                "SELECT sequence, content FROM events WHERE run = ? AND sequence > ? "
                "ORDER BY sequence LIMIT ?",
                (run.number, after, limit),
            ).fetchall()

    def last_event(self, run: RunRecord) -> int:
        """The number of the run's last event, 0 if it has none."""
        with self._database.reading() as connection:
            found = connection.execute(
                "SELECT max(sequence) FROM events WHERE run = ?", (run.number,)
            ).fetchone()
        return int(found[0] or 0)

    def plan(self, run: RunRecord) -> bytes | None:
        """The cases that the run was last started with, None if it never was."""
        with self._database.reading() as connection:
            found = connection.execute(
                "SELECT content FROM plans JOIN runs ON plan = digest WHERE number = ?",
                (run.number,),
            ).fetchone()
        return None if found is None else found[0]

    def cancel_queued(self, over: Over) -> bool:
        """Ends a run that is still in the queue; False if it is not."""
        with self._database.writing() as connection:
            queued = _count(connection, "id = ? AND state = 'queued'", (over.run,))
            if queued:
                _write(connection, over)
        return bool(queued)

    def _select(self, rest: str, values: Sequence[Any]) -> list[RunRecord]:
        with self._database.reading() as connection:
            query = f"SELECT {_COLUMNS} FROM runs {rest}"  # noqa: S608 - all values are bound
            rows = connection.execute(query, values).fetchall()
        return [RunRecord(*row) for row in rows]


_COLUMNS = ", ".join(RunRecord.__struct_fields__)


def _write(connection: sqlite3.Connection, entry: Entry) -> None:
    match entry:
        case Started(run, at, plan):
            digest = hashlib.sha256(plan).hexdigest()[:_PLAN_DIGEST_CHARACTERS]
            connection.execute("INSERT OR IGNORE INTO plans VALUES (?, ?)", (digest, plan))
            connection.execute(
                "UPDATE runs SET state = 'running', started_at = ?, plan = ? WHERE id = ?",
                (at, digest, run),
            )
        case Happened(run, sequence, content):
            connection.execute(
                "INSERT INTO events SELECT number, ?, ? FROM runs WHERE id = ?",
                (sequence, content, run),
            )
        case Requeued(run):
            connection.execute(
                "UPDATE runs SET state = 'queued', started_at = NULL WHERE id = ?", (run,)
            )
        case Over():
            connection.execute(
                "UPDATE runs SET state = ?, ended_at = ?, submission = ?, verdict = ?, "
                "exit_status = ?, counts = ? WHERE id = ?",
                (
                    entry.state,
                    entry.at,
                    entry.submission,
                    entry.verdict,
                    entry.exit_status,
                    entry.counts,
                    entry.run,
                ),
            )


def _key_record(connection: sqlite3.Connection, key: str) -> KeyRecord | None:
    row = connection.execute(
        "SELECT fingerprint, run, created_at FROM idempotency_keys WHERE key = ?", (key,)
    ).fetchone()
    return None if row is None else KeyRecord(*row)


def _condition(wanted: Filter) -> tuple[str, tuple[Any, ...]]:
    named = {
        "verdict": wanted.verdict,
        "suite": wanted.suite,
        "client": wanted.client,
        "idempotency_key": wanted.key,
    }
    parts: list[tuple[str, tuple[str, ...]]] = [
        (f"{name} = ?", (value,)) for name, value in named.items() if value is not None
    ]
    if wanted.states:
        parts.append((f"state IN ({', '.join('?' * len(wanted.states))})", wanted.states))
    condition = " AND ".join(part for part, _ in parts) or "TRUE"
    return condition, tuple(value for _, values in parts for value in values)


def _count(connection: sqlite3.Connection, condition: str, values: Sequence[Any]) -> int:
    query = f"SELECT count(*) FROM runs WHERE {condition}"  # noqa: S608 - all values are bound
    return int(connection.execute(query, values).fetchone()[0])

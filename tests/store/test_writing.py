"""What happens in a run, recorded: all of it or nothing, in order."""

import contextlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from retryproof.store.database import Database
from retryproof.store.runs import (
    Entry,
    Filter,
    Happened,
    Over,
    Requeued,
    RunStore,
    Started,
)

from tests.store.storing import NOON, accept, known, opened, rows

PLAN = b'[{"name": "a case"}]'
OVER = Over("one", NOON + 2, "finished", b'{"secrets": ""}', "fail", 1, b'{"planned": 1}')


def events(count: int, start: int = 1, run: str = "one") -> list[Happened]:
    return [Happened(run, number, b"event %d" % number) for number in range(start, start + count)]


def test_a_run_from_its_start_to_its_end(store: RunStore) -> None:
    queued = accept(store, "one", "key")
    assert store.plan(queued) is None
    assert store.last_event(queued) == 0
    store.write([Started("one", NOON + 1, PLAN), *events(2)])
    running = known(store, "one")
    assert (running.state, running.started_at, running.ended_at) == ("running", NOON + 1, None)
    assert store.plan(running) == PLAN
    assert store.running() == [running]
    assert store.waiting() == []
    store.write([*events(1, start=3), OVER])
    over = known(store, "one")
    assert (over.state, over.ended_at, over.verdict) == ("finished", NOON + 2, "fail")
    assert (over.exit_status, over.counts, over.submission) == (1, OVER.counts, OVER.submission)
    assert (over.number, over.created_at, over.idempotency_key) == (queued.number, NOON, "key")
    assert store.events(over, 0, 10) == [(n, b"event %d" % n) for n in (1, 2, 3)]
    assert store.last_event(over) == 3
    assert store.running() == []


@pytest.mark.parametrize("after", range(6))
def test_events_from_any_one_on(store: RunStore, after: int) -> None:
    record = accept(store, "one")
    other = accept(store, "two")
    store.write([*events(5), *events(7, run="two")])
    rest = [(number, b"event %d" % number) for number in range(after + 1, 6)]
    assert store.events(record, after, 10) == rest
    assert store.events(record, after, 2) == rest[:2]
    assert store.last_event(other) == 7


def test_a_requeued_run_waits_again_and_keeps_its_place(store: RunStore) -> None:
    first = accept(store, "one")
    accept(store, "two")
    store.write([Started("one", NOON, PLAN), *events(2), Requeued("one")])
    again = known(store, "one")
    assert (again.state, again.started_at, again.submission) == ("queued", None, first.submission)
    assert [run for run, _ in store.waiting()] == ["one", "two"]
    assert store.last_event(again) == 2


def test_plans_that_are_equal_are_kept_once(store: RunStore, file: Path) -> None:
    for name in ("one", "two", "three"):
        accept(store, name)
    store.write([Started("one", NOON, PLAN), Started("two", NOON, PLAN)])
    store.write([Started("three", NOON, b"[]")])
    assert rows(file, "SELECT count(*) FROM plans") == [(2,)]
    assert [store.plan(known(store, name)) for name in ("one", "two", "three")] == [
        PLAN,
        PLAN,
        b"[]",
    ]


def test_a_queued_run_is_cancelled_once(store: RunStore) -> None:
    accept(store, "one")
    over = Over("one", NOON + 1, "cancelled", b"{}")
    assert store.cancel_queued(over)
    record = known(store, "one")
    assert (record.state, record.ended_at, record.verdict) == ("cancelled", NOON + 1, None)
    assert store.waiting() == []
    assert not store.cancel_queued(over)


@pytest.mark.parametrize("entries", [[Started("one", NOON, PLAN)], [OVER]])
def test_what_does_not_wait_is_not_cancelled(store: RunStore, entries: list[Entry]) -> None:
    accept(store, "one")
    store.write(entries)
    before = known(store, "one")
    assert not store.cancel_queued(Over("one", NOON + 9, "cancelled", b"{}"))
    assert not store.cancel_queued(Over("none", NOON + 9, "cancelled", b"{}"))
    assert known(store, "one") == before


REPEATED = Happened("one", 1, b"again")
BAD_STATE = Over("one", NOON, "lost", b"{}")  # type: ignore[arg-type]
BAD_VERDICT = Over("one", NOON, "finished", b"{}", "maybe")


@pytest.mark.parametrize("bad", [REPEATED, BAD_STATE, BAD_VERDICT])
@pytest.mark.parametrize("place", [1, 2, 4])
def test_what_fails_half_way_leaves_nothing(store: RunStore, bad: Entry, place: int) -> None:
    accept(store, "one")
    accept(store, "two")
    store.write(events(1))
    before = [*store.page(Filter(), None, 10), store.events(known(store, "one"), 0, 10)]
    entries: list[Entry] = [Started("one", NOON, PLAN), *events(2, start=2), Started("two", 1, b"")]
    with pytest.raises(sqlite3.IntegrityError):
        store.write([*entries[:place], bad, *entries[place:]])
    assert [*store.page(Filter(), None, 10), store.events(known(store, "one"), 0, 10)] == before
    assert store.plan(known(store, "one")) is None
    store.write(entries)
    assert store.last_event(known(store, "one")) == 3


def test_a_run_whose_key_can_not_be_kept_is_not_accepted(file: Path) -> None:
    with opened(file) as store:
        accept(store, "one")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "CREATE TRIGGER no_keys BEFORE INSERT ON idempotency_keys "
            "BEGIN SELECT RAISE(ABORT, 'no keys'); END"
        )
    with opened(file) as store:
        with pytest.raises(sqlite3.IntegrityError, match="no keys"):
            accept(store, "two", "key")
        assert store.get("two") is None
        assert [run for run, _ in store.waiting()] == ["one"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_is_broken_off_leaves_nothing(
    file: Path, error: type[BaseException]
) -> None:
    with closing(Database(file)) as database:
        store = RunStore(database)
        accept(store, "one")
        with contextlib.suppress(error), database.writing() as connection:
            connection.execute("DELETE FROM runs")
            raise error
        assert known(store, "one").state == "queued"
        accept(store, "two")
    assert rows(file, "SELECT id FROM runs ORDER BY number") == [("one",), ("two",)]

"""What a daemon that died has left in the store, at whichever entry, is put in order."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from retryproof.api.events import encode_event
from retryproof.api.submission import OnInterrupt
from retryproof.app import RunRequest, suite_named
from retryproof.daemon import records
from retryproof.daemon.accepting import KeptRun, decode_kept
from retryproof.daemon.archive import DAEMON_DEATH, MAX_RERUNS, Archive
from retryproof.events import Event, RunStarted
from retryproof.reports.report import Report
from retryproof.store.runs import Entry, Happened, NewRun, RunRecord, RunStore, Started
from retryproof.supervise.launch import program

from tests.daemon.running import FAULTY
from tests.driving import here, run
from tests.store.storing import NOON, ROOM, known, opened

CASES = ("matching-replay", "body-conflict")
LAUNCH = program((sys.executable, "-I", "-S", FAULTY), here({"SECRET": "a-secret-value"}))
ID = "a"


@pytest.fixture(scope="module")
def events() -> Sequence[Event]:
    """The events of a run that passes."""
    seen: list[Event] = []
    run(LAUNCH, cases=CASES, sinks=[seen.append])
    return seen


def entries(events: Sequence[Event], after: int = 0) -> list[Entry]:
    """What the journal has of these events; the first is an entry of its own."""
    started = events[0]
    assert isinstance(started, RunStarted)
    happened = [
        Happened(ID, number, encode_event(event)) for number, event in enumerate(events, after + 1)
    ]
    return [Started(ID, NOON, records.encode_plan(started)), *happened]


def accepted(store: RunStore, on_interrupt: OnInterrupt) -> Archive:
    kept = KeptRun(RunRequest(LAUNCH, CASES), on_interrupt)
    store.accept(NewRun(ID, "retry", "adapter", "", kept.encode()), None, NOON, ROOM)
    return Archive(store, suite_named, lambda: NOON)


def settled(store: RunStore, archive: Archive) -> RunRecord:
    archive.settle_what_was_left()
    record = known(store, ID)
    archive.settle_what_was_left()
    assert known(store, ID) == record
    return record


def has_secret(record: RunRecord) -> bool:
    return "a-secret-value" in str(decode_kept(record.submission))


@pytest.mark.parametrize("on_interrupt", ["end", "rerun"])
def test_at_any_entry(tmp_path: Path, events: Sequence[Event], on_interrupt: OnInterrupt) -> None:
    for count in range(len(entries(events)) + 1):
        with opened(tmp_path / f"{count}.sqlite3") as store:
            archive = accepted(store, on_interrupt)
            store.write(entries(events)[:count])
            record = settled(store, archive)
            report: Any = archive.report(record)
            if count < 2:  # Nothing was launched.
                check_waiting(store, record, ended=0)
            elif count > len(events):
                assert (record.state, record.verdict, record.exit_status) == ("finished", "pass", 0)
                assert report.interrupted_by is None
            elif on_interrupt == "rerun":
                check_waiting(store, record, ended=count - 1)
            else:
                assert (record.state, record.exit_status) == ("interrupted", 1)
                check_interrupted(record, report)
            assert has_secret(record) == (record.state == "queued")


def check_waiting(store: RunStore, record: RunRecord, ended: int) -> None:
    """It waits again, with the events that there were, and an end to them."""
    assert (record.state, record.started_at, record.verdict) == ("queued", None, None)
    assert store.waiting() == [(ID, "")]
    last = store.last_event(record)
    assert last == 0 if ended == 0 else ended < last <= ended + 2


def check_interrupted(record: RunRecord, report: Report) -> None:
    assert record.verdict == report.verdict
    assert report.interrupted_by == DAEMON_DEATH
    assert report.counts.planned == len(CASES)
    if report.counts.passed < len(CASES):
        assert report.verdict == "incomplete"


def test_a_second_attempt_is_the_one_that_counts(tmp_path: Path, events: Sequence[Event]) -> None:
    with opened(tmp_path / "runs.sqlite3") as store:
        archive = accepted(store, "rerun")
        store.write(entries(events)[:5])
        last = store.last_event(settled(store, archive))
        store.write(entries(events, after=last))
        record = settled(store, archive)
        assert (record.state, record.verdict) == ("finished", "pass")
        numbers = [number for number, _ in store.events(record, 0, 1_000)]
        assert numbers == list(range(1, last + len(events) + 1))
        report = archive.report(record)
        assert report is not None
        assert report.counts.passed == len(CASES)
        assert report.resources.processes_spawned == 1


def test_a_second_attempt_that_was_hardly_begun(tmp_path: Path, events: Sequence[Event]) -> None:
    """It has its plan, but not its first event: the attempt before was ended already."""
    with opened(tmp_path / "runs.sqlite3") as store:
        archive = accepted(store, "rerun")
        store.write(entries(events)[:5])
        last = store.last_event(settled(store, archive))
        store.write(entries(events, after=last)[:1])
        record = settled(store, archive)
        assert record.state == "queued"
        assert store.last_event(record) == last


def test_a_run_that_may_kill_the_daemon_ends_at_last(
    tmp_path: Path, events: Sequence[Event]
) -> None:
    with opened(tmp_path / "runs.sqlite3") as store:
        archive = accepted(store, "rerun")
        last = 0
        for _ in range(MAX_RERUNS):
            store.write(entries(events, after=last)[:5])
            record = settled(store, archive)
            assert record.state == "queued"
            last = store.last_event(record)
        store.write(entries(events, after=last)[:5])
        record = settled(store, archive)
        assert (record.state, record.exit_status) == ("interrupted", 1)
        assert not has_secret(record)

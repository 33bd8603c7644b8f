"""What is handed to the journal is written: all of it, in order, however long the store fails."""

import itertools
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from retryproof.daemon.journal import Journal
from retryproof.errors import StoreUnavailableError
from retryproof.store.database import Database
from retryproof.store.runs import Entry, Happened, RunStore

from tests.cli.command import wait_for
from tests.store.storing import accept, known, opened

LONG_SECONDS = 30.0
RUN = "a"


class FailingStore(RunStore):
    """A real store, which some attempts to write do not reach."""

    def __init__(self, database: Database, fails: Callable[[int], bool]) -> None:
        """`fails` tells of each attempt, counted from 1, whether it fails."""
        super().__init__(database)
        self.attempts = 0
        self._fails = fails

    def write(self, entries: Iterable[Entry]) -> None:
        self.attempts += 1
        if self._fails(self.attempts):
            raise StoreUnavailableError("The disk is full.")
        super().write(entries)


class Written:
    """What the journal says is on the disk."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def __call__(self, entries: Sequence[Entry]) -> None:
        self.entries += entries


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite3"


@contextmanager
def failing(file: Path, fails: Callable[[int], bool]) -> Iterator[FailingStore]:
    with closing(Database(file)) as database:
        store = FailingStore(database, fails)
        accept(store, RUN)
        yield store


def happened(number: int) -> Happened:
    return Happened(RUN, number, b"%d" % number)


def stored(store: RunStore) -> list[int]:
    """The numbers of the events in the store; each has its own content."""
    events = store.events(known(store, RUN), 0, 1_000_000)
    assert [content for _, content in events] == [b"%d" % number for number, _ in events]
    return [number for number, _ in events]


def one_to(last: int) -> list[int]:
    return list(range(1, last + 1))


def test_everything_in_order(file: Path) -> None:
    written = Written()
    with opened(file) as store:
        accept(store, RUN)
        journal = Journal(store, written)
        for number in one_to(5_000):
            journal.write(happened(number))
        assert journal.settle(LONG_SECONDS)
        assert stored(store) == one_to(5_000)
        journal.write(happened(5_001))
        assert journal.close(LONG_SECONDS)
        assert stored(store) == one_to(5_001)
    assert written.entries == [happened(number) for number in one_to(5_001)]


def test_from_many_threads_each_in_its_order(file: Path) -> None:
    with opened(file) as store:
        for name in "abcd":
            accept(store, name)
        journal = Journal(store, lambda _: None)

        def hand_over(name: str) -> None:
            for number in one_to(500):
                journal.write(Happened(name, number, b"%d" % number))
                if number % 100 == 0:
                    assert journal.settle(LONG_SECONDS)

        threads = [threading.Thread(target=hand_over, args=[name]) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert journal.close(LONG_SECONDS)
        for name in "abcd":
            events = store.events(known(store, name), 0, 1_000)
            assert [number for number, _ in events] == one_to(500)


@pytest.mark.parametrize(
    "fails",
    [
        pytest.param(lambda attempt: attempt <= 3, id="for-a-while"),
        pytest.param(lambda attempt: attempt % 2 == 1, id="every-other-time"),
    ],
)
def test_a_store_that_fails_now_and_then(file: Path, fails: Callable[[int], bool]) -> None:
    written = Written()
    with failing(file, fails) as store:
        journal = Journal(store, written)
        numbers = itertools.count(1)
        for _ in range(3):
            for _ in range(50):
                journal.write(happened(next(numbers)))
            assert journal.settle(LONG_SECONDS)
        assert journal.problem is None
        assert journal.close(LONG_SECONDS)
        assert stored(store) == one_to(150)
        assert store.attempts > 3
    assert written.entries == [happened(number) for number in one_to(150)]


def test_a_real_lock_is_told_and_outlasted(file: Path) -> None:
    written = Written()
    with opened(file) as store, closing(sqlite3.connect(file, isolation_level=None)) as other:
        accept(store, RUN)
        journal = Journal(store, written)
        other.execute("BEGIN IMMEDIATE")
        for number in one_to(100):
            journal.write(happened(number))
        wait_for(lambda: journal.problem is not None, "the problem")
        assert "locked" in str(journal.problem)
        assert not journal.settle(0.01)
        assert written.entries == []
        for number in range(101, 201):
            journal.write(happened(number))
        other.execute("ROLLBACK")
        assert journal.settle(LONG_SECONDS)
        assert journal.problem is None
        assert stored(store) == one_to(200)
        assert journal.close(LONG_SECONDS)
    assert written.entries == [happened(number) for number in one_to(200)]


def test_it_gives_up_in_time(file: Path) -> None:
    with failing(file, lambda _: True) as store:
        journal = Journal(store, lambda _: None)
        for number in one_to(10):
            journal.write(happened(number))
        assert not journal.close(0.01)
        assert isinstance(journal.problem, StoreUnavailableError)
        assert stored(store) == []


def test_nothing_is_written_after_a_gap(file: Path) -> None:
    """The store is well again just after a part was given up."""
    last_failures: list[int] = []

    def fails(attempt: int) -> bool:
        if not journal or journal[0]._give_up_at is None:
            return True
        last_failures.append(attempt)
        return len(last_failures) == 1

    journal: list[Journal] = []
    with failing(file, fails) as store:
        journal.append(Journal(store, lambda _: None))
        journal[0].write(happened(1))
        wait_for(lambda: store.attempts > 0, "the first attempt")
        journal[0].write(happened(2))
        assert not journal[0].close(0.0)
        assert len(last_failures) == 1
        assert stored(store) == []


def test_nothing_to_write(file: Path) -> None:
    with opened(file) as store:
        journal = Journal(store, lambda _: None)
        assert journal.settle(LONG_SECONDS)
        assert journal.problem is None
        assert journal.close(LONG_SECONDS)

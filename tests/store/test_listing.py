"""Pages of runs: put together they are the whole list, once each, the newest first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.store.runs import Filter, NewRun, Over, RunRecord, RunStore, Started, State

from tests.store.storing import NOON, ROOM, a_run, accept, opened
from tests.strategies import repeatable

SUITES, CLIENTS, KEYS = ("retry", "retryfuse"), ("", "me", "you"), (None, "k", "K")
VERDICTS = ("pass", "fail", "incomplete")
STATES: tuple[State, ...] = ("queued", "running", "finished", "cancelled", "interrupted")
RUNS = 60


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunStore]:
    """A store with runs of every kind."""
    with opened(tmp_path_factory.mktemp("many") / "runs.sqlite3") as store:
        for number in range(RUNS):
            add(store, number)
        yield store


def add(store: RunStore, number: int) -> None:
    run = str(number)
    state, client = STATES[number % 5], CLIENTS[number // 5 % 3]
    suite = SUITES[number // 15 % 2]
    # Under a key of its own each time: the list goes by the run's, not by what a key means now.
    accept(store, run, None, suite=suite, client=client, at=NOON + number)
    if state != "queued":
        store.write([Started(run, NOON, b"[]")])
    if state not in ("queued", "running"):
        verdict = VERDICTS[number // 3 % 3]
        store.write([Over(run, NOON, state, b"{}", verdict, 1, b"{}")])


filters = st.builds(
    Filter,
    states=st.lists(st.sampled_from(STATES), max_size=3, unique=True).map(tuple),
    verdict=st.none() | st.sampled_from(VERDICTS),
    suite=st.none() | st.sampled_from([*SUITES, "none"]),
    client=st.none() | st.sampled_from(CLIENTS),
)


def is_wanted(record: RunRecord, wanted: Filter) -> bool:
    return (
        (not wanted.states or record.state in wanted.states)
        and wanted.verdict in (None, record.verdict)
        and wanted.suite in (None, record.suite)
        and wanted.client in (None, record.client)
    )


def pages(store: RunStore, wanted: Filter, size: int) -> Iterator[list[RunRecord]]:
    before = None
    while page := store.page(wanted, before, size):
        yield page
        before = page[-1].number


@repeatable(150)
@given(filters, st.integers(1, RUNS + 1))
def test_pages_put_together_are_the_whole_list(many: RunStore, wanted: Filter, size: int) -> None:
    everything = many.page(Filter(), None, RUNS + 1)
    assert [record.id for record in everything] == [str(n) for n in reversed(range(RUNS))]
    expected = [record for record in everything if is_wanted(record, wanted)]
    found = list(pages(many, wanted, size))
    assert [record for page in found for record in page] == expected
    assert all(len(page) == size for page in found[:-1])
    assert many.count(wanted) == len(expected)


def test_runs_that_come_meanwhile_move_no_page(store: RunStore) -> None:
    for number in range(6):
        accept(store, str(number))
    first = store.page(Filter(), None, 3)
    accept(store, "late")
    second = store.page(Filter(), first[-1].number, 3)
    assert [record.id for record in (*first, *second)] == ["5", "4", "3", "2", "1", "0"]


def test_a_cursor_beyond_both_ends(store: RunStore) -> None:
    record = accept(store, "one")
    assert store.page(Filter(), 2**53, 10) == [record]
    assert store.page(Filter(), record.number, 10) == []
    assert store.page(Filter(), 0, 10) == []


def test_runs_are_found_by_their_key(store: RunStore) -> None:
    accept(store, "none")
    accept(store, "one", "k")
    accept(store, "two", "K")
    accept(store, "three", "k", at=NOON + 24 * 60 * 60)
    assert [found.id for found in store.page(Filter(key="k"), None, 10)] == ["three", "one"]
    assert store.count(Filter(key="K")) == 1
    assert store.page(Filter(key=""), None, 10) == []


@pytest.mark.parametrize("text", ["'", "' OR 1=1 --", "%", "_", "a\x00b", "\ud7ff", "é", "e\u0301"])
def test_any_text_is_only_ever_a_value(store: RunStore, text: str) -> None:
    accept(store, "other")
    adapter = f"./{text}"
    store.accept(NewRun(f"id{text}", "retry", adapter, text, b"{}"), None, NOON, ROOM)
    (found,) = store.page(Filter(client=text), None, 10)
    assert (found.id, found.client, found.adapter) == (f"id{text}", text, adapter)
    assert store.get(f"id{text}") == found
    for wanted in (Filter(verdict=text), Filter(suite=text), Filter((text,)), Filter(key=text)):
        assert store.page(wanted, None, 10) == []


def test_numbers_are_never_used_twice(file: Path) -> None:
    with opened(file) as store:
        first: Any = accept(store, "one").number
    with opened(file) as store:
        assert store.accept(a_run("two"), None, NOON, ROOM).ruling == "create"
        (second, _) = store.page(Filter(), None, 2)
        assert second.number > first

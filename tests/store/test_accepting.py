"""Which requests make a run, and which ones get the first one's, in a real database."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.store.idempotency import RETENTION_SECONDS, KeyRecord, rule
from retryproof.store.runs import Accepted, Filter, KeyUse, RunStore

from tests.store.storing import NOON, ROOM, a_run, accept, known, opened, rows
from tests.strategies import repeatable

KEY = KeyUse("key", "fingerprint")
OTHER_BODY = KeyUse("key", "another")


def test_a_run_is_accepted_as_it_is(store: RunStore) -> None:
    run = a_run("one", suite="retryfuse", client="me")
    assert store.accept(run, KEY, NOON, ROOM) == Accepted("create", "one")
    record = known(store, "one")
    assert (record.id, record.suite, record.adapter) == (run.id, run.suite, run.adapter)
    assert (record.client, record.submission) == (run.client, run.submission)
    assert (record.state, record.idempotency_key, record.created_at) == ("queued", "key", NOON)
    assert (record.started_at, record.ended_at, record.counts) == (None, None, None)
    assert (record.verdict, record.exit_status) == (None, None)
    assert store.waiting() == [("one", "me")]


def test_it_is_on_the_disk_when_it_is_accepted(store: RunStore, file: Path) -> None:
    accept(store, "one", "key")
    assert rows(file, "SELECT id FROM runs") == [("one",)]
    assert rows(file, "SELECT key, run FROM idempotency_keys") == [("key", "one")]


def test_without_a_key_each_request_makes_a_run(store: RunStore) -> None:
    for name in ("one", "two"):
        assert store.accept(a_run(name), None, NOON, ROOM) == Accepted("create", name)
    assert store.waiting() == [("one", "c"), ("two", "c")]


def test_the_same_request_is_answered_with_the_first_run(store: RunStore) -> None:
    accept(store, "one", "key")
    assert store.accept(a_run("two"), KEY, NOON + 1, ROOM) == Accepted("replay", "one")
    assert store.known(KEY, NOON + 1) == Accepted("replay", "one")
    assert store.get("two") is None


def test_another_request_with_the_key_is_a_conflict(store: RunStore) -> None:
    accept(store, "one", "key")
    assert store.accept(a_run("two"), OTHER_BODY, NOON, ROOM) == Accepted("conflict", "one")
    assert store.known(OTHER_BODY, NOON) == Accepted("conflict", "one")
    assert store.count(Filter()) == 1


def test_an_unknown_key_and_an_expired_one_are_not_known(store: RunStore) -> None:
    assert store.known(KEY, NOON) is None
    accept(store, "one", "key")
    assert store.known(KEY, NOON + RETENTION_SECONDS - 1) == Accepted("replay", "one")
    assert store.known(KEY, NOON + RETENTION_SECONDS) is None
    assert store.known(OTHER_BODY, NOON + RETENTION_SECONDS) is None


def test_an_expired_key_makes_a_run_and_is_counted_from_it(store: RunStore) -> None:
    accept(store, "one", "key")
    again = NOON + RETENTION_SECONDS
    assert store.accept(a_run("two"), OTHER_BODY, again, ROOM) == Accepted("create", "two")
    assert store.accept(a_run("three"), KEY, again + 1, ROOM) == Accepted("conflict", "two")
    last = again + RETENTION_SECONDS - 1
    assert store.accept(a_run("four"), OTHER_BODY, last, ROOM) == Accepted("replay", "two")
    assert store.accept(a_run("five"), KEY, last + 1, ROOM) == Accepted("create", "five")


def test_a_full_queue_takes_nothing_new(store: RunStore) -> None:
    accept(store, "one", "key")
    assert store.accept(a_run("two"), None, NOON, 1) == Accepted("full")
    assert store.accept(a_run("two"), KeyUse("fresh", "f"), NOON, 1) == Accepted("full")
    assert store.count(Filter()) == 1
    assert store.known(KeyUse("fresh", "f"), NOON) is None


def test_what_is_known_is_answered_from_a_full_queue(store: RunStore) -> None:
    accept(store, "one", "key")
    assert store.accept(a_run("two"), KEY, NOON, 1) == Accepted("replay", "one")
    assert store.accept(a_run("two"), OTHER_BODY, NOON, 1) == Accepted("conflict", "one")


def test_an_expired_key_does_not_get_past_a_full_queue(store: RunStore) -> None:
    accept(store, "one", "key")
    later = NOON + RETENTION_SECONDS
    assert store.accept(a_run("two"), KEY, later, 1) == Accepted("full")
    assert store.accept(a_run("two"), KEY, later, 2) == Accepted("create", "two")


def test_keys_are_told_apart_exactly(store: RunStore) -> None:
    keys = ["key", "KEY", "key ", "ke", "key%", "k_y", "''"]
    for number, key in enumerate(keys):
        assert accept(store, str(number), key).idempotency_key == key


def test_keys_outlive_a_restart(file: Path) -> None:
    with opened(file) as store:
        accept(store, "one", "key")
    with opened(file) as store:
        assert store.accept(a_run("two"), KEY, NOON, ROOM) == Accepted("replay", "one")


@pytest.mark.parametrize("same_body", [True, False])
def test_of_overlapping_requests_with_one_key_one_makes_a_run(
    store: RunStore, same_body: bool
) -> None:
    threads = 24
    everybody = threading.Barrier(threads)

    def request(number: int) -> Accepted:
        use = KeyUse("key", "f" if same_body else f"f{number}")
        everybody.wait()
        return store.known(use, NOON) or store.accept(a_run(f"run-{number}"), use, NOON, ROOM)

    with ThreadPoolExecutor(threads) as pool:
        accepted = list(pool.map(request, range(threads)))
    (run,) = {one.run for one in accepted}
    others = "replay" if same_body else "conflict"
    assert sorted(one.ruling for one in accepted) == sorted(["create", *[others] * (threads - 1)])
    assert [record.id for record in store.page(Filter(), None, 10)] == [run]


def test_overlapping_requests_never_overfill_the_queue(store: RunStore) -> None:
    threads, room = 24, 5
    everybody = threading.Barrier(threads)

    def request(number: int) -> str:
        everybody.wait()
        return store.accept(a_run(f"run-{number}"), None, NOON, room).ruling

    with ThreadPoolExecutor(threads) as pool:
        rulings = list(pool.map(request, range(threads)))
    assert rulings.count("create") == len(store.waiting()) == room
    assert rulings.count("full") == threads - room


moments = st.integers(0, 20).map(lambda step: NOON + step * RETENTION_SECONDS / 6)
histories = st.lists(
    st.tuples(moments, st.sampled_from([None, "a", "b"]), st.sampled_from("xy")), max_size=12
)


@repeatable(60)
@given(histories)
def test_a_history_of_requests_makes_the_runs_of_the_rule(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[float, str | None, str]]
) -> None:
    records: dict[str, KeyRecord] = {}
    made: list[str] = []
    with opened(tmp_path_factory.mktemp("history") / "runs.sqlite3") as store:
        for number, (now, key, body) in enumerate(sorted(history, key=lambda item: item[0])):
            run, use = str(number), None if key is None else KeyUse(key, body)
            accepted = store.accept(a_run(run), use, now, ROOM)
            record = None if key is None else records.get(key)
            ruling = rule(record, body, now)
            if ruling == "create":
                made.append(run)
                if key is not None:
                    records[key] = KeyRecord(body, run, now)
                assert accepted == Accepted("create", run)
            else:
                assert record is not None
                assert accepted == Accepted(ruling, record.run)
        assert [run for run, _ in store.waiting()] == made

"""The rule of idempotency keys, at both sides of the deadline and against a model of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.store.idempotency import RETENTION_SECONDS, KeyRecord, Ruling, rule

from tests.store.storing import NOON
from tests.strategies import repeatable

DAY = 24 * 60 * 60.0
RECORD = KeyRecord("same", "first", NOON)
JUST_BEFORE = math.nextafter(NOON + DAY, 0)
JUST_AFTER = math.nextafter(NOON + DAY, math.inf)


def test_a_key_lives_for_a_day() -> None:
    assert RETENTION_SECONDS == DAY


@pytest.mark.parametrize("fingerprint", ["same", "another"])
def test_an_unknown_key_makes_a_run(fingerprint: str) -> None:
    assert rule(None, fingerprint, NOON) == "create"


@pytest.mark.parametrize(
    ("now", "fingerprint", "ruling"),
    [
        (NOON, "same", "replay"),
        (NOON, "another", "conflict"),
        (NOON + DAY / 2, "same", "replay"),
        (NOON + DAY / 2, "another", "conflict"),
        (NOON + DAY - 1, "same", "replay"),
        (NOON + DAY - 1, "another", "conflict"),
        (JUST_BEFORE, "same", "replay"),
        (JUST_BEFORE, "another", "conflict"),
        (NOON + DAY, "same", "create"),
        (NOON + DAY, "another", "create"),
        (JUST_AFTER, "same", "create"),
        (JUST_AFTER, "another", "create"),
        (NOON + 100 * DAY, "same", "create"),
        # A clock that was put back makes no second run.
        (NOON - 1, "same", "replay"),
        (NOON - 100 * DAY, "another", "conflict"),
    ],
)
def test_a_known_key(now: float, fingerprint: str, ruling: Ruling) -> None:
    assert rule(RECORD, fingerprint, now) == ruling


moments = st.integers(0, 30).map(lambda step: NOON + step * DAY / 6)
"""Steps of a sixth of the retention: the deadline itself is met often."""
requests = st.lists(st.tuples(moments, st.sampled_from("ab"), st.sampled_from("xy")), max_size=20)


@repeatable(300)
@given(requests)
def test_a_history_of_requests_is_ruled_as_the_model_says(
    history: list[tuple[float, str, str]],
) -> None:
    records: dict[str, KeyRecord] = {}
    for number, (now, key, body) in enumerate(sorted(history)):
        ruling = rule(records.get(key), body, now)
        assert ruling == model(sorted(history)[:number], key, body, now)
        if ruling == "create":
            records[key] = KeyRecord(body, str(number), now)


def model(earlier: list[tuple[float, str, str]], key: str, body: str, now: float) -> Ruling:
    """The contract in its own words, from nothing but the requests that came before."""
    made = None
    for at, other_key, other_body in earlier:
        is_free = made is None or at - made[0] >= DAY
        if other_key == key and is_free:
            made = at, other_body
    if made is None or now - made[0] >= DAY:
        return "create"
    return "replay" if made[1] == body else "conflict"


@repeatable(100)
@given(st.lists(st.floats(0, DAY, exclude_max=True), max_size=10))
def test_replays_never_extend_a_keys_life(delays: list[float]) -> None:
    record = RECORD
    for delay in sorted(delays):
        # What is not written can't be extended: a replay leaves the record as it is.
        assert rule(record, "same", min(NOON + delay, JUST_BEFORE)) == "replay"
    assert rule(record, "same", NOON + DAY) == "create"

"""When a step is due, if ticks are real time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.runner.pacing import Pacing

from tests.strategies import LAST_TICK, repeatable


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Pure, and quick: no search for processes that a test left behind."""


ticks = st.integers(0, LAST_TICK)
seconds = st.floats(0.001, 600)
moments = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("first_tick", "tick", "seconds_per_tick", "due_at"),
    [
        pytest.param(0, 0, 1.0, 100.0, id="the same tick is due at once"),
        pytest.param(0, 6, 1.0, 106.0, id="a second a tick"),
        pytest.param(0, 5, 0.5, 102.5, id="half a second a tick"),
        pytest.param(3, 9, 2.0, 112.0, id="counted from the first step's tick"),
        pytest.param(0, 24, 600.0, 14500.0, id="the longest case"),
    ],
)
def test_a_step_is_due_its_ticks_after_the_first_answer(
    first_tick: int, tick: int, seconds_per_tick: float, due_at: float
) -> None:
    assert Pacing(seconds_per_tick, first_tick, 100.0).due_at(tick) == due_at


@repeatable(100)
@given(ticks, ticks, ticks, seconds, moments)
def test_a_later_tick_is_never_due_earlier_nor_any_before_the_first_answer(
    first: int, second: int, third: int, seconds_per_tick: float, answered_at: float
) -> None:
    first, second, third = sorted((first, second, third))
    pacing = Pacing(seconds_per_tick, first, answered_at)

    assert answered_at == pacing.due_at(first) <= pacing.due_at(second) <= pacing.due_at(third)


@repeatable(100)
@given(ticks, ticks, seconds)
def test_a_record_is_at_least_as_old_as_its_tick_says(
    first: int, later: int, seconds_per_tick: float
) -> None:
    """A record made by the first step existed when its answer came, or before."""
    first, later = sorted((first, later))
    pacing = Pacing(seconds_per_tick, first, 0.0)

    assert pacing.due_at(later) >= (later - first) * seconds_per_tick

"""What a run does next, decided without a process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.runner.policy import (
    Action,
    Finish,
    Launch,
    Progress,
    RunCase,
    ShutDown,
    case_broken_off,
    case_completed,
    decide,
    launched,
    not_launched,
    shut_down,
)

from tests.strategies import repeatable


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Pure, and quick: no search for processes that a test left behind."""


NAMES = ("first", "second", "third")


@pytest.mark.parametrize(
    ("progress", "action"),
    [
        pytest.param(Progress(NAMES), Launch(), id="at the start"),
        pytest.param(Progress(NAMES, has_process=True), RunCase("first"), id="ready"),
        pytest.param(Progress(NAMES[2:], has_process=True), RunCase("third"), id="the last case"),
        pytest.param(Progress((), has_process=True), ShutDown(), id="all cases done"),
        pytest.param(Progress(()), Finish(), id="nothing left"),
        pytest.param(Progress(NAMES[1:], keep_going=True), Launch(), id="in a fresh process"),
        pytest.param(Progress((), keep_going=True), Finish(), id="no process for no case"),
    ],
)
def test_the_next_action_follows_from_where_the_run_stands(
    progress: Progress, action: Action
) -> None:
    assert decide(progress) == action


@pytest.mark.parametrize("keep_going", [False, True])
def test_a_launch_that_fails_ends_the_run(keep_going: bool) -> None:
    assert not_launched(Progress(NAMES, keep_going)) == Progress((), keep_going)


def test_a_launch_that_succeeds_leaves_the_cases_to_be_run() -> None:
    assert launched(Progress(NAMES)) == Progress(NAMES, has_process=True)


def test_a_completed_case_is_done_and_its_process_goes_on() -> None:
    ready = Progress(NAMES, has_process=True)

    assert case_completed(ready) == Progress(("second", "third"), has_process=True)


def test_a_case_that_is_broken_off_stops_the_suite() -> None:
    assert case_broken_off(Progress(NAMES, has_process=True)) == Progress(())


def test_with_keep_going_the_next_case_gets_a_fresh_process() -> None:
    ready = Progress(NAMES, keep_going=True, has_process=True)

    left = case_broken_off(ready)

    assert left == Progress(("second", "third"), keep_going=True)
    assert decide(left) == Launch()


def test_after_a_shutdown_no_process_is_there() -> None:
    assert shut_down(Progress((), has_process=True)) == Progress(())


def perform(action: Action, progress: Progress, goes_well: bool) -> Progress:
    match action:
        case Launch():
            return launched(progress) if goes_well else not_launched(progress)
        case RunCase():
            return case_completed(progress) if goes_well else case_broken_off(progress)
        case ShutDown():
            return shut_down(progress)
    raise AssertionError(f"nothing is left to do, and yet {action}")


@repeatable(200)
@given(st.integers(0, 5), st.booleans(), st.lists(st.booleans(), max_size=20))
def test_every_run_ends_with_no_process_and_each_case_run_at_most_once(
    size: int, keep_going: bool, luck: list[bool]
) -> None:
    progress = Progress(tuple(f"case-{i}" for i in range(size)), keep_going)
    outcomes = iter(luck)
    actions: list[Action] = []
    while (action := decide(progress)) != Finish():
        actions.append(action)
        assert isinstance(action, Launch) != progress.has_process
        progress = perform(action, progress, next(outcomes, True))
        assert len(actions) <= 2 * size + 2

    run = [action.name for action in actions if isinstance(action, RunCase)]
    assert run == [f"case-{i}" for i in range(len(run))]
    assert not progress.has_process
    if all(luck):
        assert len(run) == size
        assert actions.count(Launch()) == actions.count(ShutDown()) == min(size, 1)

"""The lines of a run's events, to the letter: see tests/golden_files.py."""

import pytest
from retryproof.events import (
    AdapterGone,
    AdapterInitialized,
    Call,
    CallFailed,
    CallReturned,
    CallStarted,
    Evaluated,
    Event,
    Failure,
    RunEnded,
    WaitStarted,
)
from retryproof.fuse.matrix import Answered
from retryproof.reports.event_text import render_event
from retryproof_protocol.messages import AdapterIdentity

from tests.bundle import BUNDLE
from tests.golden_files import assert_golden, rendered
from tests.reports.runs import LOAD, ScriptedRun

REFUSED = Answered(None, "refused")
FIRST, SECOND, THIRD = BUNDLE.cases[:3]


def lines(*events: Event) -> str:
    return "".join(rendered(render_event(event)) for event in events)


def test_the_events_of_a_run_read_as_before() -> None:
    run = ScriptedRun([FIRST, SECOND, THIRD])
    run.launch(seconds_per_tick=1.0)
    run.case(FIRST, FIRST.expected)
    run.case(THIRD, THIRD.expected[:1])
    run.case_fails_at(SECOND, SECOND.expected[:1], "timeout", "No answer.", "Look for a loop.")
    run.launch_fails("launch", "It was not found.", process=False)
    run.gone(status=None, strays=3, warnings=("It left late.", "It was slow."))
    ended = RunEnded(9.5, LOAD)
    assert_golden("events/run.txt", lines(*run.events, WaitStarted(8.25, 1.5), ended))


def test_the_calls_of_retryfuse() -> None:
    call = Call("evaluate")
    text = lines(
        CallReturned(1.0, call, 0.0001, evaluation=Evaluated(Answered("brake", "fail"))),
        CallReturned(1.0, call, 0.0002, evaluation=Evaluated(REFUSED, "no\x1b object")),
        CallReturned(1.0, call, 0.0003, evaluation=Evaluated(REFUSED)),
    )
    assert text.splitlines() == [
        "   1.000 evaluate -> brake (fail) (0.1 ms)",
        "   1.000 evaluate -> refused: no\\x1b object (0.2 ms)",
        "   1.000 evaluate -> refused: with a JSON-RPC error (0.3 ms)",
    ]


def test_the_end_of_a_run_that_was_cut_short() -> None:
    assert lines(RunEnded(2.0, LOAD, "cancellation")) == "   2.000 run cut short: cancellation\n"


def test_the_start_of_a_call_has_no_line_of_its_own() -> None:
    assert lines(CallStarted(0.0, Call("reset"))) == ""


@pytest.mark.parametrize(
    "event",
    [
        CallFailed(0.0, Failure("crash", Call("reset"), "\x1b[31m", "\u202e", False, 1.0)),
        AdapterInitialized(0.0, AdapterIdentity("\x1b[31m", "\u202e", "\x07"), 1, None),
        AdapterGone(0.0, 0, 1, ("\x1b[31m",), 0.0, 0, "", ("\u202e\x07",)),
    ],
)
def test_control_characters_never_reach_the_terminal_raw(event: Event) -> None:
    text = lines(event)
    assert "\\x1b[31m" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)

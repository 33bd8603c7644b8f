"""Events as they are kept, and how an attempt ends whose end nobody has seen."""

import sys
import typing
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from retryproof.api.events import encode_event, read_event
from retryproof.api.views import NamedCase
from retryproof.daemon import records
from retryproof.events import (
    AdapterGone,
    AdapterInitialized,
    AdapterLaunched,
    CallFailed,
    CallReturned,
    CallStarted,
    CaseStarted,
    Event,
    RunEnded,
    RunStarted,
    WaitStarted,
)
from retryproof.reports.report import RunReport
from retryproof.suites import FuseSuite, RetrySuite, Suite
from retryproof.supervise.launch import program

from tests.daemon.running import FAULTY
from tests.driving import BUNDLE, here, run
from tests.fuse_suite import driving as fuse

CAUSE = "daemon death"
RETRY: Suite[Any] = RetrySuite(BUNDLE)
FUSE: Suite[Any] = FuseSuite(fuse.MATRIX)
FEW = ("matching-replay", "lost-create", "fixed-expiry")


class Recorded:
    """A run as it was: its suite, events and report; `kept` are the events as they come back."""

    def __init__(self, suite: Suite[Any], events: Sequence[Event]) -> None:
        self.suite = suite
        self.events = events
        started = events[0]
        assert isinstance(started, RunStarted)
        self.cases = started.cases
        self.report = folded(suite, events, started.cases)
        self.kept = [read_event(encode_event(event)) for event in events]


def folded(suite: Suite[Any], events: Sequence[Event], cases: tuple[Any, ...]) -> RunReport[Any]:
    log = suite.new_log()
    records.replay(events, cases, log)
    report: RunReport[Any] = log.report()
    return report


def zoo(*behaviours: str, keep_going: bool = False, cases: Sequence[str] = FEW) -> Recorded:
    events: list[Event] = []
    launch = program((sys.executable, "-I", "-S", FAULTY, *behaviours), here())
    run(launch, cases=cases, call_seconds=0.5, keep_going=keep_going, sinks=[events.append])
    return Recorded(RETRY, events)


def fuse_run() -> Recorded:
    events: list[Event] = []
    fuse.run(fuse.reference(), cases=fuse.FEW[:4], sinks=[events.append])
    return Recorded(FUSE, events)


RUNS: dict[str, Callable[[], Recorded]] = {
    "passing": zoo,
    "failing": lambda: zoo("step2=keep-state"),
    "hanging": lambda: zoo("step3=hang"),
    "hanging in reset": lambda: zoo("reset2=hang", keep_going=True),
    "crashing and going on": lambda: zoo("step2=exit-with:3", keep_going=True),
    "not starting": lambda: zoo("initialize1=exit-with:2", keep_going=True),
    "leaving something behind": lambda: zoo("end=leave-a-child"),
    "retryfuse": fuse_run,
}


@pytest.fixture(params=RUNS.values(), ids=[*RUNS], scope="module")
def recorded(request: pytest.FixtureRequest) -> Recorded:
    made: Recorded = request.param()
    return made


def test_what_was_kept_tells_the_same(recorded: Recorded) -> None:
    """The events are the same but for the cases, which come back from the plan."""
    started, *rest = recorded.events
    kept_start, *kept = recorded.kept
    assert isinstance(started, RunStarted)
    names = tuple(NamedCase(case.name) for case in started.cases)
    assert kept_start == replace(started, cases=names)
    assert kept == rest
    plan = records.encode_plan(started)
    assert records.decode_plan(recorded.suite.case_type, plan) == recorded.cases
    assert folded(recorded.suite, recorded.kept, recorded.cases) == recorded.report
    # What has ended is not ended again.
    assert records.closing_events(recorded.kept, recorded.cases, CAUSE) == ()


def test_cut_at_any_moment(recorded: Recorded) -> None:
    """What was over stays as it was, what was in the middle is unknown, the rest was not run."""
    for length in range(1, len(recorded.events)):
        cut = recorded.kept[:length]
        closing = records.closing_events(cut, recorded.cases, CAUSE)
        # It is kept, too.
        assert [read_event(encode_event(event)) for event in closing] == list(closing)
        report = folded(recorded.suite, [*cut, *closing], recorded.cases)
        check_conserved(report)
        check_cases(recorded, cut, report)
        check_only_the_last_attempt_counts([*cut, *closing], recorded.kept)
        assert report.interrupted_by == CAUSE
        assert report.exit_status == 1


def check_conserved(report: RunReport[Any]) -> None:
    counts = report.counts
    accounted = counts.passed + counts.failed + counts.incomplete + counts.not_run
    assert counts.planned == accounted == len(report.cases)
    if counts.incomplete or counts.not_run:
        assert report.verdict == "incomplete"


def check_cases(recorded: Recorded, cut: Sequence[Event], report: RunReport[Any]) -> None:
    begun = [event.case for event in cut if isinstance(event, CaseStarted)]
    for case, whole in zip(report.cases, recorded.report.cases, strict=True):
        if whole.verdict == "not-run" or case == whole:
            assert case == whole or case.verdict == "incomplete"
        elif case.name not in begun:
            assert case.verdict == "not-run" or case.failure.call.method == "initialize"
        else:
            # It was in the middle: only the last one can have been.
            assert case.name == begun[-1]
            assert case.verdict == "incomplete"
            assert case.failure.kind == "interrupted"
            assert not case.failure.definite
            assert "unknown" in case.failure.message
            check_is_next(cut, case.failure.call, whole)


def check_is_next(cut: Sequence[Event], call: Any, whole: Any) -> None:
    """The call of unknown outcome is the one that is pending, or the one after the last answer."""
    last = [event for event in cut if isinstance(event, CallStarted | CallReturned | CaseStarted)]
    match last[-1]:
        case CallStarted():
            assert call == last[-1].call
        case CaseStarted():
            assert call.method == "reset"
        case CallReturned():
            if last[-1].call.method == "initialize":
                assert call.method == "reset"
            else:
                previous = last[-1].call.step
                assert call.step == (0 if previous is None else previous + 1)
                if whole.failure is not None:
                    assert call.step <= whole.failure.call.step


def check_only_the_last_attempt_counts(first: Sequence[Event], kept: Sequence[Event]) -> None:
    assert records.last_attempt([*first, *kept]) == kept
    assert records.last_attempt(first) == first


def test_an_attempt_begins_with_its_start() -> None:
    assert records.last_attempt(()) == ()
    assert records.closing_events((), (), CAUSE) == ()
    with pytest.raises(ValueError, match="begins with its start"):
        records.closing_events([AdapterLaunched(0.1, "guard")], (), CAUSE)


KINDS = (
    RunStarted[NamedCase],
    AdapterLaunched,
    AdapterInitialized,
    CaseStarted,
    WaitStarted,
    CallStarted,
    CallReturned,
    CallFailed,
    AdapterGone,
    RunEnded,
)


def test_all_kinds_of_events_are_tried() -> None:
    assert {typing.get_origin(kind) or kind for kind in KINDS} == {
        typing.get_origin(kind) or kind for kind in typing.get_args(Event)
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: (typing.get_origin(kind) or kind).__name__)
@settings(deadline=None)
@given(data=st.data())
def test_any_event_comes_back(kind: Any, data: st.DataObject) -> None:
    event = data.draw(built(kind))
    kept = read_event(encode_event(event))
    assert kept == event
    assert encode_event(kept) == encode_event(event)


SIMPLE = {
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(st.characters(exclude_categories=["Cs"])),
    int: st.integers(0, 10**400),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.none(),
}


def built(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that JSON can hold."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if isinstance(origin or kind, type) and issubclass(origin or kind, msgspec.Struct):
        members = {field.name: built(field.type) for field in msgspec.structs.fields(kind)}
        return st.builds(origin or kind, **members)
    if origin is typing.Annotated and arguments[0] is int:
        return st.integers(arguments[1].ge or 0, arguments[1].le)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(built(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(built(arguments[0]), built(arguments[1]), max_size=3)
    return st.one_of(*map(built, arguments))

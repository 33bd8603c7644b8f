"""A run's events, each once and in order, over lost streams and restarts."""

import json

import msgspec
import pytest
from retryproof.api.views import NamedCase, RunView
from retryproof.client.connection import Daemon
from retryproof.client.following import Streamed, follow, look_back
from retryproof.client.patience import Patience
from retryproof.errors import (
    DaemonAnswerError,
    DaemonRefusalError,
    DaemonUnavailableError,
    LostConnectionError,
)
from retryproof.events import Event, RunEnded, RunStarted

from tests.bundle import BUNDLE
from tests.client.clocks import Clock
from tests.client.small_server import SmallServer, breaks_off, message, refuses, streams
from tests.client.views import PASSED, document, view
from tests.reports.runs import LOAD, ScriptedRun

pytestmark = pytest.mark.filterwarnings(
    # httpcore2 leaves the socket of a refused connection to the garbage collector.
    "ignore:unclosed <socket:ResourceWarning"
)
RUN = "5b1f00aa5b1f00aa"
CASE = BUNDLE.cases[0]


def events() -> list[Event]:
    run = ScriptedRun([CASE])
    run.launch()
    run.case(CASE, CASE.expected)
    run.shut_down()
    return [*run.events, RunEnded(2.0, LOAD)]


def sent(event: Event) -> dict[str, object]:
    if isinstance(event, RunStarted):
        event = msgspec.structs.replace(event, cases=(NamedCase(CASE.name),))
    encoded: dict[str, object] = json.loads(msgspec.json.encode(event))
    return encoded


EVENTS = events()
MESSAGES = [
    message(type(event).__name__, sent(event), number) for number, event in enumerate(EVENTS, 1)
]
END = message("end", document(**PASSED))
ALL = ("".join(MESSAGES), END)


def kinds(followed: list[Streamed | RunView]) -> list[str]:
    return [
        "end" if isinstance(happened, RunView) else type(happened.event).__name__
        for happened in followed
    ]


WHOLE = [*(type(event).__name__ for event in EVENTS), "end"]


def followed(server: SmallServer, patience: Patience) -> list[Streamed | RunView]:
    with Daemon(server.socket) as daemon:
        return list(follow(daemon, RUN, patience))


def test_all_that_happens_and_then_the_run() -> None:
    with SmallServer(streams(*ALL)) as server:
        happened = followed(server, Clock().patience())
    assert kinds(happened) == WHOLE
    assert happened[-1] == view(**PASSED)
    assert [
        json.loads(streamed.content) for streamed in happened if isinstance(streamed, Streamed)
    ] == [sent(event) for event in EVENTS]
    assert "Last-Event-ID" not in server.requests[0].headers


def test_a_lost_stream_is_taken_up_where_it_was() -> None:
    refusal = refuses(503, "stopping", "It is stopping.")
    with SmallServer(
        streams(*MESSAGES[:3]),
        breaks_off,
        refusal,
        streams(*MESSAGES[3:5]),
        streams(*MESSAGES[5:]),
        streams(END),
    ) as server:
        clock = Clock()
        assert kinds(followed(server, clock.patience())) == WHOLE
    last_ids = [request.headers.get("Last-Event-ID") for request in server.requests]
    assert last_ids == [None, "3", "3", "3", "5", str(len(MESSAGES))]
    assert clock.pauses == [0.1, 0.2, 0.4, 0.1, 0.1]


def test_a_message_that_is_cut_in_the_middle_is_read_again() -> None:
    cut = MESSAGES[1][: len(MESSAGES[1]) // 2]
    with SmallServer(streams(MESSAGES[0], cut), streams(*MESSAGES[1:], END)) as server:
        assert kinds(followed(server, Clock().patience())) == WHOLE
    assert server.requests[1].headers["Last-Event-ID"] == "1"


def test_a_daemon_that_is_restarted_is_waited_for() -> None:
    with SmallServer(streams(*MESSAGES[:3]), streams(*MESSAGES[3:], END)) as server:
        clock = Clock()
        pauses_before_it_is_back = 12

        def restart() -> None:
            if len(clock.pauses) == 1:
                server.stop()
            if len(clock.pauses) == pauses_before_it_is_back:
                server.start()

        clock.on_pause = restart
        assert kinds(followed(server, clock.patience())) == WHOLE


def test_a_daemon_that_stays_away_is_not_waited_for_forever() -> None:
    with SmallServer(streams(*MESSAGES[:3])) as server:
        clock = Clock(on_pause=server.stop)
        with pytest.raises(DaemonUnavailableError, match="No daemon answers"):
            followed(server, clock.patience(60))
        assert 60 <= clock.now < 63


def test_a_run_that_is_not_there_is_not_waited_for() -> None:
    with (
        SmallServer(refuses(404, "not-found", "No.")) as server,
        pytest.raises(DaemonRefusalError, match="There is no run"),
    ):
        followed(server, Clock().patience())


@pytest.mark.parametrize(
    "strange",
    [
        message("Exploded", {"type": "Exploded", "at": 0.0}, 1),
        message("CaseStarted", {"type": "CaseStarted"}, 1),
        message("end", {"id": 1}),
        "data: {\n\n",
    ],
)
def test_what_is_not_in_form_ends_it(strange: str) -> None:
    with (
        SmallServer(streams(strange)) as server,
        pytest.raises(DaemonAnswerError, match="an event that is not in form"),
    ):
        followed(server, Clock().patience())


def test_a_look_back_does_not_wait() -> None:
    with (
        SmallServer(streams(*MESSAGES[:2]), streams(*ALL), breaks_off) as server,
        Daemon(server.socket) as daemon,
    ):
        assert kinds(list(look_back(daemon, RUN))) == WHOLE[:2]
        assert kinds(list(look_back(daemon, RUN))) == WHOLE
        with pytest.raises(LostConnectionError):
            list(look_back(daemon, RUN))
    assert server.requests[0].target.endswith("/events?follow=false")

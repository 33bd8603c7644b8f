"""The client against real servers on Unix sockets, well and badly behaved ones."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from retryproof.client.connection import Daemon, RunQuery
from retryproof.errors import (
    DaemonAnswerError,
    DaemonRefusalError,
    DaemonUnavailableError,
    LostConnectionError,
)

from tests.client.small_server import (
    Handler,
    Reply,
    SmallServer,
    breaks_off,
    message,
    refuses,
    says,
    says_nothing,
    streams,
)
from tests.client.views import document, page, view

pytestmark = pytest.mark.filterwarnings(
    # httpcore2 leaves the socket of a refused connection to the garbage collector.
    "ignore:unclosed <socket:ResourceWarning"
)
STATUS = {
    "ready": True,
    "problem": None,
    "version": "0.1.0",
    "pid": 17,
    "jobs": 2,
    "queued": 0,
    "running": 0,
    "maxQueued": 1000,
}


def test_the_calls_and_what_they_send() -> None:
    with (
        SmallServer(
            says(201, document()),
            says(200, page(view())),
            says(200, {**document(), "report": None}),
            says(202, document(state="running")),
            says(200, STATUS),
            says(503, {**STATUS, "ready": False, "problem": "The disk is full."}),
        ) as server,
        Daemon(server.socket) as daemon,
    ):
        assert daemon.submit(b'{"a": 1}', "7d0c") == view()
        query = RunQuery(state=("queued", "running"), client="/a b&c=d", limit=2, cursor="9")
        assert daemon.page(query).runs == (view(),)
        assert bytes(daemon.run("5b1f").report) == b"null"
        assert daemon.cancel("5b1f").state == "running"
        assert daemon.status().ready
        assert daemon.status().problem == "The disk is full."
    submitted = server.requests[0]
    assert submitted.body == b'{"a": 1}'
    assert submitted.headers["Idempotency-Key"] == "7d0c"
    assert submitted.headers["Content-Type"] == "application/json"
    assert [f"{request.method} {request.target}" for request in server.requests] == [
        "POST /v1/runs",
        "GET /v1/runs?state=queued&state=running&client=%2Fa+b%26c%3Dd&limit=2&cursor=9",
        "GET /v1/runs/5b1f",
        "POST /v1/runs/5b1f/cancel",
        "GET /readyz",
        "GET /readyz",
    ]


@pytest.mark.parametrize("kind", ["nothing", "a file", "a socket that nobody listens at"])
def test_without_a_daemon_it_says_so_and_how_to_start_one(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "s"
    if kind == "a file":
        place.touch()
    if kind.startswith("a socket"):
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(place))
    with Daemon(place) as daemon, pytest.raises(DaemonUnavailableError) as raised:
        daemon.status()
    assert raised.value.message == f"No daemon answers at {place}."
    assert raised.value.advice == "Start one: retryproof serve"


AS_ANOTHER_USER = """
import os, pathlib, sys
from retryproof.client.connection import Daemon
with Daemon(pathlib.Path(sys.argv[1])) as daemon:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    try:
        daemon.status()
    except Exception as error:
        print(type(error).__name__, error.message)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_socket_of_another_user_is_no_missing_one() -> None:
    with SmallServer() as server:
        server.socket.chmod(0o600)
        server.folder.chmod(0o711)
        finished = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER, str(server.socket)],
            check=True,
            capture_output=True,
            text=True,
        )
    assert finished.stdout == (
        f"DaemonUnavailableError You may not use the daemon at {server.socket}: permission "
        "denied.\n"
    )


def cut_off(handler: Handler) -> None:
    """Announces more than it sends."""
    handler.answer(200, b'{"ready": ', {"Content-Length": "1000"})


@pytest.mark.parametrize("reply", [breaks_off, cut_off])
def test_a_connection_that_is_lost_leaves_it_in_doubt(reply: Reply) -> None:
    with (
        SmallServer(reply) as server,
        Daemon(server.socket) as daemon,
        pytest.raises(LostConnectionError, match="broke off before") as raised,
    ):
        daemon.submit(b"{}", "7d0c")
    assert not raised.value.timed_out
    assert not raised.value.definite


def test_an_answer_that_does_not_come_leaves_it_in_doubt() -> None:
    with (
        SmallServer(says_nothing) as server,
        Daemon(server.socket, answer_seconds=0.1) as daemon,
        pytest.raises(LostConnectionError, match="not answered in time") as raised,
    ):
        daemon.submit(b"{}", "7d0c")
    assert raised.value.timed_out


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"ready": "yes"}', b"\xff"])
def test_an_answer_that_is_not_in_form_is_refused(content: bytes) -> None:
    with (
        SmallServer(lambda handler: handler.answer(200, content)) as server,
        Daemon(server.socket) as daemon,
        pytest.raises(DaemonAnswerError, match="not in form"),
    ):
        daemon.status()


@pytest.mark.parametrize(
    ("reply", "text", "seconds"),
    [
        (refuses(429, "queue-full", "The queue is full.", Retry_After="7"), "The queue is full", 7),
        (refuses(503, "stopping", "It stops.", Retry_After="soon"), "It stops.", None),
        (refuses(400, "bad-submission", "Expected x.", "cases[0]"), "cases[0]: Expected x.", None),
        (lambda handler: handler.answer(502, b"?"), "answered 502 without a word", None),
    ],
)
def test_a_refusal_in_the_daemons_words(reply: Reply, text: str, seconds: float | None) -> None:
    with (
        SmallServer(reply) as server,
        Daemon(server.socket) as daemon,
        pytest.raises(DaemonRefusalError) as raised,
    ):
        daemon.submit(b"{}", "7d0c")
    assert text in raised.value.message
    assert raised.value.retry_after_seconds == seconds


def test_a_run_that_is_not_there_is_named() -> None:
    gone = refuses(404, "not-found", "No.")
    with SmallServer(gone, gone, gone) as server, Daemon(server.socket) as daemon:
        for ask in (daemon.run, daemon.cancel, lambda run: daemon.stream(run).__enter__()):
            with pytest.raises(DaemonRefusalError, match=r"There is no run 5b1f\."):
                ask("5b1f")


@pytest.mark.parametrize("run", ["", "..", "../../readyz", "a/cancel", "a?b", "a%2fb", "é", "a\n"])
def test_what_can_not_be_an_id_is_not_sent(run: str) -> None:
    with SmallServer() as server, Daemon(server.socket) as daemon:
        with pytest.raises(DaemonRefusalError, match="There is no run"):
            daemon.run(run)
        with pytest.raises(DaemonRefusalError, match="There is no run"):
            daemon.cancel(run)
    assert server.requests == []


def test_messages_come_whole_however_they_are_written() -> None:
    text = "a\u2028b\x85c"
    sent = f": hello\n\nid: 1\r\nevent: A\r\ndata: {text}\r\n\r\n" + message("end", {"x": 1})
    with (
        SmallServer(streams(sent)) as server,
        Daemon(server.socket) as daemon,
        daemon.stream("5b1f", after="0") as messages,
    ):
        (first, last) = messages
    assert (first.id, first.kind, first.data) == ("1", "A", text)
    assert (last.kind, last.data) == ("end", '{"x": 1}')
    assert server.requests[0].headers["Last-Event-ID"] == "0"
    assert server.requests[0].headers["Accept"] == "text/event-stream"


def test_what_is_no_stream_of_events_is_refused() -> None:
    with (
        SmallServer(says(200, {})) as server,
        Daemon(server.socket) as daemon,
        pytest.raises(DaemonAnswerError, match="sends no events"),
        daemon.stream("5b1f") as messages,
    ):
        list(messages)


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with SmallServer(says(200, STATUS)) as server, Daemon(server.socket) as daemon:
        assert daemon.status().pid == 17

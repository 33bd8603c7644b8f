"""SIGTERM in every state: the daemon leaves in time, with status 0, and loses nothing."""

import json
import os
import signal
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from retryproof.daemon import connections, engine

from tests.cli.command import wait_for
from tests.daemon.running import Daemon, endless, gated, long, quick, zoo

MARGIN_SECONDS = 5
"""For a process that is killed, a write to the disk, and a machine that does other things."""
RUNS_SECONDS = engine.STOP_SECONDS + MARGIN_SECONDS
IDLE_SECONDS = MARGIN_SECONDS
ANSWERS_SECONDS = connections.STOP_SECONDS + MARGIN_SECONDS
"""Without a run to wait for, but with an answer that is under way."""
BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


def stop_within(daemon: Daemon, seconds: float, number: int = signal.SIGTERM) -> None:
    """Stops it; the exit status is 0, no process and no socket is left, and it is quiet."""
    started = time.monotonic()
    assert daemon.stop(number) == 0, daemon.log
    assert time.monotonic() - started < seconds
    assert not daemon.socket.exists()
    assert daemon.log == ""


@BOTH
def test_idle(number: int) -> None:
    with Daemon("--listen", "127.0.0.1:0") as daemon:
        daemon.readiness()
        stop_within(daemon, IDLE_SECONDS, number)


def test_queued_and_driven_runs(place: Path) -> None:
    """What can end in time does; what hangs is killed; what waits goes on waiting."""
    gate = place / "gate"
    with Daemon("--jobs", "3") as daemon:
        ending = daemon.submit(gated(gate))["id"]
        hanging = daemon.submit(endless())["id"]
        rerun = daemon.submit(hanging_once(place))["id"]
        for run in (ending, hanging, rerun):
            daemon.wait_for_call(run)
        queued = [daemon.submit(quick(client=str(number)))["id"] for number in range(3)]
        following = [daemon.events(run) for run in (hanging, rerun, queued[0])]
        for events in following[:2]:
            assert next(events).kind == "RunStarted"
        daemon.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        wait_for(lambda: daemon.readiness()[0] == 503, "the end of readiness")
        daemon.process.send_signal(signal.SIGTERM)  # Once more, which changes nothing.
        check_stopping(daemon)
        gate.touch()
        # The followers are told the end of what has ended, and nothing of the rest.
        assert [[*events][-1].kind for events in following[:2]] == ["end", "RunEnded"]
        assert [*following[2]] == []
        assert daemon.wait() == 0
        assert time.monotonic() - started < RUNS_SECONDS
        assert daemon.log == ""
        daemon.restart()
        ended = daemon.get(ending)
        assert (ended["state"], ended["verdict"]) == ("finished", "pass")
        check_killed(daemon.get(hanging))
        for run in (rerun, *queued):
            over = daemon.wait_until_over(run)
            assert (over["state"], over["verdict"]) == ("finished", "pass")


def hanging_once(place: Path) -> dict[str, Any]:
    """An adapter that hangs in its first process, and behaves in the next."""
    marker = ("--once", str(place / "once"))
    return zoo(*marker, "step2=hang", limits={"callSeconds": 600}, onInterrupt="rerun")


def check_stopping(daemon: Daemon) -> None:
    status, readiness = daemon.readiness()
    assert (status, readiness["ready"]) == (503, False)
    assert "stopping" in readiness["problem"]
    refused = daemon.client.post("/v1/runs", json=quick())
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "stopping"
    assert int(refused.headers["Retry-After"]) > 0


def check_killed(run: dict[str, Any]) -> None:
    assert (run["state"], run["verdict"], run["exitStatus"]) == ("interrupted", "incomplete", 1)
    report = run["report"]
    assert report["interruptedBy"] == "daemon stop"
    (failure,) = [case["failure"] for case in report["cases"] if case["failure"] is not None]
    assert failure["kind"] == "interrupted"
    assert not failure["definite"]


@BOTH
def test_again_and_again_until_the_end(number: int) -> None:
    """A signal that comes when all is said and done must not change how it ends."""
    with Daemon() as daemon:
        daemon.readiness()
        deadline = time.monotonic() + IDLE_SECONDS
        while daemon.is_running:
            os.kill(daemon.process.pid, number)
            assert time.monotonic() < deadline
            with suppress(subprocess.TimeoutExpired):
                daemon.process.wait(0.001)
        stop_within(daemon, IDLE_SECONDS)


def test_an_idle_event_stream(place: Path) -> None:
    gate = place / "gate"
    with Daemon("--jobs", "1") as daemon:
        daemon.wait_for_call(daemon.submit(gated(gate))["id"])
        queued = daemon.submit(quick())["id"]
        with closing(daemon.connection()) as connection:
            connection.request("GET", f"/v1/runs/{queued}/events")
            answer = connection.getresponse()
            daemon.process.send_signal(signal.SIGTERM)
            wait_for(lambda: daemon.readiness()[0] == 503, "the end of readiness")
            gate.touch()
            stop_within(daemon, RUNS_SECONDS)
            assert answer.read() == b""


def test_half_a_request() -> None:
    with Daemon() as daemon:
        body = json.dumps(quick()).encode()
        with closing(daemon.connection()) as sender, closing(daemon.connection()) as silent:
            silent.connect()
            sender.putrequest("POST", "/v1/runs")
            sender.putheader("Content-Length", str(len(body)))
            sender.endheaders(body[:10])
            daemon.readiness()
            stop_within(daemon, ANSWERS_SECONDS)
        daemon.restart()
        assert daemon.client.get("/v1/runs").json()["total"] == 0


def test_a_follower_that_does_not_read() -> None:
    with Daemon() as daemon:
        run = daemon.submit(long())["id"]
        daemon.wait_until_over(run)
        with closing(daemon.connection()) as connection:
            connection.request("GET", f"/v1/runs/{run}/events")
            connection.getresponse()
            stop_within(daemon, ANSWERS_SECONDS)

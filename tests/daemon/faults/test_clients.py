"""Clients that are slow, silent, gone, or many: no other client and no run is the worse for it."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest
from retryproof.daemon.engine import MAX_QUEUED

from tests.cli.command import wait_for
from tests.daemon.running import (
    PATIENCE_SECONDS,
    Daemon,
    Message,
    endless,
    gated,
    long,
    quick,
    read_messages,
)

STREAMS = 200
MIB = 1024 * 1024
QUEUED_MIB = 64
"""For 1,000 queued runs: in memory each is an id, some 200 bytes; the rest is the allocator's."""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with Daemon("--jobs", "2") as daemon:
        yield daemon
        assert daemon.log == ""


def check_is_well(daemon: Daemon) -> None:
    assert daemon.readiness()[0] == 200
    assert daemon.wait_until_over(daemon.submit(quick())["id"])["verdict"] == "pass"


def descriptors(daemon: Daemon) -> int:
    return psutil.Process(daemon.process.pid).num_fds()


def kernel_bytes() -> int:
    """What the kernel takes of an answer that nobody reads."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        return client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def connect(daemon: Daemon) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(str(daemon.socket))
    return client


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: retryproof\r\n\r\n".encode()


BODY = json.dumps(quick()).encode()
POST = b"POST /v1/runs HTTP/1.1\r\nHost: retryproof\r\nContent-Length: %d\r\n\r\n" % len(BODY)


HALF_REQUESTS = (
    b"",
    b"GET /v1/ru",
    b"GET /v1/runs HTTP/1.1\r\nHost: re",
    POST,
    POST + BODY[:-1],
)


def test_half_a_request_and_silence(daemon: Daemon) -> None:
    """They are cut off, and others are served meanwhile."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(daemon)) for _ in HALF_REQUESTS]
        for client, sent in zip(clients, HALF_REQUESTS, strict=True):
            client.sendall(sent)
        check_is_well(daemon)
        assert [client.recv(1) for client in clients] == [b""] * len(clients)
    assert daemon.client.get("/v1/runs").json()["total"] == 1


def test_gone_in_the_middle_of_a_body(daemon: Daemon) -> None:
    check_is_well(daemon)
    before = descriptors(daemon)
    for length in range(0, len(BODY), 20):
        with connect(daemon) as client:
            client.sendall(POST + BODY[:length])
    wait_for(lambda: descriptors(daemon) == before, "the end of the connections")
    assert daemon.client.get("/v1/runs").json()["total"] == 1
    check_is_well(daemon)


def test_gone_before_the_answer(daemon: Daemon) -> None:
    """What was asked for wholly is done, whether anybody waits for the answer or not."""
    for _ in range(10):
        with connect(daemon) as client:
            client.sendall(POST + BODY)
    wait_for(lambda: daemon.client.get("/v1/runs").json()["total"] == 10, "ten runs")
    for run in daemon.client.get("/v1/runs").json()["runs"]:
        assert daemon.wait_until_over(run["id"])["verdict"] == "pass"


def test_gone_in_the_middle_of_an_event_stream(daemon: Daemon, place: Path) -> None:
    gate = place / "gate"
    run = daemon.submit(gated(gate))["id"]
    daemon.wait_for_call(run)
    before = descriptors(daemon)
    for _ in range(20):
        with connect(daemon) as client:
            client.sendall(get(f"/v1/runs/{run}/events"))
            assert client.recv(100)
    gate.touch()
    assert daemon.wait_until_over(run)["verdict"] == "pass"
    wait_for(lambda: descriptors(daemon) <= before, "the end of the connections")
    check_is_well(daemon)


def test_gone_in_the_middle_of_a_big_answer(daemon: Daemon) -> None:
    run = daemon.submit(long())["id"]
    daemon.wait_until_over(run)
    before = descriptors(daemon)
    for path in (f"/v1/runs/{run}", f"/v1/runs/{run}/events", f"/v1/runs/{run}/report"):
        for _ in range(3):
            with connect(daemon) as client:
                client.sendall(get(path))
                assert client.recv(100)
    assert len(daemon.client.get(f"/v1/runs/{run}").content) > kernel_bytes()
    wait_for(lambda: descriptors(daemon) == before, "the end of the connections")
    check_is_well(daemon)


def test_two_hundred_event_streams_at_once(daemon: Daemon, place: Path) -> None:
    gate = place / "gate"
    run = daemon.submit(gated(gate))["id"]
    daemon.wait_for_call(run)
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(daemon.connection())) for _ in range(STREAMS)]
        for connection in connections:
            connection.request("GET", f"/v1/runs/{run}/events")
        answers = [connection.getresponse() for connection in connections]
        check_is_well(daemon)
        gate.touch()
        told = [messages(answer.read()) for answer in answers]
    whole = told[0]
    assert [event.number for event in whole[:-1]] == list(range(1, len(whole)))
    assert (whole[-1].kind, whole[-1].data["verdict"]) == ("end", "pass")
    assert [*map(whole.__eq__, told)] == [True] * STREAMS
    check_is_well(daemon)


def messages(stream: bytes) -> list[Message]:
    return list(read_messages(stream.decode().split("\n")))


def test_a_follower_that_never_reads(daemon: Daemon) -> None:
    """It holds up neither the run nor other followers, and not the memory."""
    alone = daemon.wait_until_over(daemon.submit(long())["id"])
    memory_bytes = psutil.Process(daemon.process.pid).memory_info().rss
    run = daemon.submit(long())["id"]
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(connect(daemon))
            client.sendall(get(f"/v1/runs/{run}/events"))
        events = list(daemon.events(run))
        assert events[-1].kind == "end"
        assert len(daemon.client.get(f"/v1/runs/{run}/events").content) > kernel_bytes()
        grown = psutil.Process(daemon.process.pid).memory_info().rss - memory_bytes
        assert grown < QUEUED_MIB * MIB
        check_is_well(daemon)
    assert daemon.get(run)["counts"] == alone["counts"]


def test_a_thousand_queued_runs() -> None:
    with Daemon("--jobs", "1") as daemon:
        driven = daemon.submit(endless())["id"]
        daemon.wait_for_call(driven)
        process = psutil.Process(daemon.process.pid)
        before = process.memory_info().rss
        runs = [daemon.submit(quick(client=f"{n % 10}"))["id"] for n in range(MAX_QUEUED)]
        refused = daemon.client.post("/v1/runs", json=quick())
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 0
        assert refused.json()["error"]["code"] == "queue-full"
        assert process.memory_info().rss - before < QUEUED_MIB * MIB
        assert daemon.readiness()[1]["queued"] == MAX_QUEUED
        started = time.monotonic()
        for run in runs[1:]:
            assert daemon.cancel(run)["state"] == "cancelled"
        assert time.monotonic() - started < PATIENCE_SECONDS
        assert daemon.readiness()[1]["queued"] == 1
        daemon.cancel(driven)
        assert daemon.wait_until_over(runs[0])["verdict"] == "pass"
        assert daemon.wait_until_over(driven)["state"] == "cancelled"
        assert process.memory_info().rss - before < QUEUED_MIB * MIB
        assert daemon.log == ""

"""The daemon: runs through it beside the same runs made directly, followers, many stored runs."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
from msgspec import Struct
from retryproof import app
from retryproof.api.events import encode_event
from retryproof.daemon import records
from retryproof.daemon.accepting import KeptRun
from retryproof.events import Event, RunStarted
from retryproof.resources import path_of
from retryproof.store.database import Database
from retryproof.store.runs import Entry, Happened, NewRun, Over, RunStore, Started
from retryproof.supervise.launch import Surroundings, program

RUNS_A_ROUND = 40
ROUNDS = 5
FOLLOWED_EVENTS = 20_000
STORED_RUNS = (0, 1_000, 10_000)
PAGES = 20
NEIGHBOURS = 10
SPINNING_SOURCE = """
import json, sys
result = {"protocolVersion": 1, "adapter": {"name": "spins"}, "capabilities": {}}
print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}), flush=True)
while True:
    pass
"""
SPINNING = (sys.executable, "-I", "-S", "-c", SPINNING_SOURCE)
_MIB = 1024 * 1024


class Throughput(Struct, frozen=True):
    """Runs a second, one at a time."""

    direct: float
    through_daemon: float


class Neighbour(Struct, frozen=True):
    """Runs of one client, alone and beside another client's that spin: calls and verdicts."""

    alone_p99_ms: float
    beside_p99_ms: float
    verdicts: tuple[str, ...]


class Stored(Struct, frozen=True):
    """A daemon with so many runs in its store: its start, its memory, the first page of `runs`."""

    runs: int
    start_ms: float
    memory_mib: float
    page_ms: float
    command_ms: float


def measure_throughput(argv: tuple[str, ...]) -> Throughput:
    """The same runs directly and through the daemon, in turn."""
    with tempfile.TemporaryDirectory() as folder, _daemon(Path(folder)) as (client, _):
        rounds = [(_direct_seconds(argv), _daemon_seconds(client, argv)) for _ in range(ROUNDS)]
    direct, through = (statistics.median(column) for column in zip(*rounds, strict=True))
    return Throughput(RUNS_A_ROUND / direct, RUNS_A_ROUND / through)


def measure_follower(argv: tuple[str, ...]) -> float:
    """Events a second to somebody who follows a run that has many."""
    with tempfile.TemporaryDirectory() as folder:
        template = _recorded(argv)
        with _store(Path(folder)) as store:
            store.accept(_new_run(0, argv), None, 0.0, 1)
            events = [template[-2]] * FOLLOWED_EVENTS
            store.write(_entries(_id(0), [template[0], *events, template[-1]], argv))
        with _daemon(Path(folder)) as (client, _):
            started = time.perf_counter()
            with client.stream("GET", f"/v1/runs/{_id(0)}/events") as response:
                count = sum(line.startswith("id:") for line in response.iter_lines())
            elapsed = time.perf_counter() - started
    if count != FOLLOWED_EVENTS + 2:
        raise RuntimeError(f"{count} events were sent")
    return count / elapsed


def measure_neighbour() -> Neighbour:
    """Runs of the reference, one at a time, with and without an adapter that spins beside them."""
    reference = (sys.executable, str(path_of("adapters/python/reference.py")))
    with tempfile.TemporaryDirectory() as folder, _daemon(Path(folder), jobs=2) as (client, _):
        alone = [_report(client, reference) for _ in range(NEIGHBOURS)]
        spinning = {
            "adapter": {"command": SPINNING, "cwd": "/"},
            "client": "spinning",
            "keepGoing": True,
        }
        for _ in range(NEIGHBOURS):
            client.post("/v1/runs", json=spinning).raise_for_status()
        beside = [_report(client, reference) for _ in range(NEIGHBOURS)]
        for state in ("queued", "running"):
            for run in client.get("/v1/runs", params={"state": state}).json()["runs"]:
                client.post(f"/v1/runs/{run['id']}/cancel").raise_for_status()
    return Neighbour(
        max(report["resources"]["latencyMs"]["p99"] for report in alone),
        max(report["resources"]["latencyMs"]["p99"] for report in beside),
        tuple(report["verdict"] for report in beside),
    )


def measure_stored(argv: tuple[str, ...]) -> Iterator[Stored]:
    """A daemon each with ever more runs in the store."""
    template = _recorded(argv)
    with tempfile.TemporaryDirectory() as folder:
        stored = 0
        for wanted in STORED_RUNS:
            with _store(Path(folder)) as store:
                for number in range(stored, wanted):
                    store.accept(_new_run(number, argv), None, 0.0, 1)
                    store.write(_entries(_id(number), template, argv))
            stored = wanted
            started = time.perf_counter()
            with _daemon(Path(folder)) as (client, process):
                start_ms = (time.perf_counter() - started) * 1000
                pages = [_timed_ms(client, "/v1/runs") for _ in range(PAGES)]
                if stored:
                    client.get(f"/v1/runs/{_id(0)}").raise_for_status()
                command_ms = _command_ms(Path(folder))
                memory = psutil.Process(process.pid).memory_info().rss / _MIB
            yield Stored(wanted, start_ms, memory, statistics.median(pages), command_ms)


def _report(client: httpx2.Client, argv: tuple[str, ...]) -> dict[str, Any]:
    body = {"adapter": {"command": argv, "cwd": "/"}, "client": "reference"}
    run = client.post("/v1/runs", json=body).raise_for_status().json()["id"]
    with client.stream("GET", f"/v1/runs/{run}/events") as response:
        for _ in response.iter_lines():
            pass
    report: dict[str, Any] = client.get(f"/v1/runs/{run}").json()["report"]
    return report


def _direct_seconds(argv: tuple[str, ...]) -> float:
    bundle = app.contract_bundle()
    started = time.perf_counter()
    for _ in range(RUNS_A_ROUND):
        app.drive(bundle, _request(argv))
    return time.perf_counter() - started


def _daemon_seconds(client: httpx2.Client, argv: tuple[str, ...]) -> float:
    body = {"adapter": {"command": argv, "cwd": "/"}}
    started = time.perf_counter()
    for _ in range(RUNS_A_ROUND):
        client.post("/v1/runs", json=body).raise_for_status()
    last = client.get("/v1/runs", params={"limit": 1}).json()["runs"][0]["id"]
    with client.stream("GET", f"/v1/runs/{last}/events") as response:
        for _ in response.iter_lines():
            pass
    return time.perf_counter() - started


def _request(argv: tuple[str, ...]) -> app.RunRequest:
    return app.RunRequest(program(argv, Surroundings("/", {})))


def _recorded(argv: tuple[str, ...]) -> list[Event]:
    events: list[Event] = []
    app.drive(app.contract_bundle(), _request(argv), [events.append])
    return events


def _entries(run: str, events: list[Event], argv: tuple[str, ...]) -> Iterator[Entry]:
    started = events[0]
    if isinstance(started, RunStarted):
        yield Started(run, 0.0, records.encode_plan(started))
    for number, event in enumerate(events, 1):
        yield Happened(run, number, encode_event(event))
    yield Over(run, 1.0, "finished", _kept(argv), "pass", 0, None)


def _new_run(number: int, argv: tuple[str, ...]) -> NewRun:
    return NewRun(_id(number), "retry", " ".join(argv)[:60], "bench", _kept(argv))


def _kept(argv: tuple[str, ...]) -> bytes:
    return KeptRun(_request(argv), "end").encode_without_secrets()


def _id(number: int) -> str:
    return f"{number:016x}"


@contextmanager
def _store(folder: Path) -> Iterator[RunStore]:
    (folder / "state").mkdir(mode=0o700, exist_ok=True)
    database = Database(folder / "state/runs.sqlite3")
    yield RunStore(database)
    database.close()


@contextmanager
def _daemon(folder: Path, jobs: int = 1) -> Iterator[tuple[httpx2.Client, "subprocess.Popen[str]"]]:
    socket = folder / "run/socket"
    places = ("--socket", str(socket), "--state", str(folder / "state"))
    with subprocess.Popen(
        [sys.executable, "-m", "retryproof", "serve", "--jobs", str(jobs), *places],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        transport = httpx2.HTTPTransport(uds=str(socket))
        with httpx2.Client(transport=transport, base_url="http://retryproof", timeout=60) as client:
            yield client, process
        process.terminate()


def _timed_ms(client: httpx2.Client, path: str) -> float:
    started = time.perf_counter()
    json.loads(client.get(path).raise_for_status().content)
    return (time.perf_counter() - started) * 1000


def _command_ms(folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "retryproof", "runs", "--socket", str(folder / "run/socket")],
        check=True,
        capture_output=True,
    )
    return (time.perf_counter() - started) * 1000

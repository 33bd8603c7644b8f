"""The queue: so many adapters at a time, each client its share, and no run is what it was not."""

import json
import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import wait_for
from tests.daemon.faults.test_database import WRITE_LOCK, locked
from tests.daemon.running import Daemon, endless, gated, quick, zoo

JOBS = 3
MANY = 50
REFERENCES = 10


def times(run: dict[str, Any]) -> tuple[datetime, datetime]:
    """From when to when it was driven."""
    return datetime.fromisoformat(run["startedAt"]), datetime.fromisoformat(run["endedAt"])


def most_at_a_time(runs: list[dict[str, Any]]) -> int:
    intervals = [times(run) for run in runs]
    return max(sum(start <= moment < end for start, end in intervals) for moment, _ in intervals)


def test_no_more_than_so_many_adapters_at_a_time(place: Path) -> None:
    gate = place / "gate"
    with Daemon("--jobs", str(JOBS)) as daemon:
        runs = [daemon.submit(gated(gate, client=f"{n % 4}"))["id"] for n in range(4 * JOBS)]
        wait_for(lambda: daemon.readiness()[1]["running"] == JOBS, "the first runs")
        for run in runs[:JOBS]:
            daemon.wait_for_call(run)
        guards_and_adapters = daemon.family()
        assert len(guards_and_adapters) == 2 * JOBS
        assert daemon.readiness()[1]["queued"] == 3 * JOBS
        gate.touch()
        over = [daemon.wait_until_over(run) for run in runs]
        assert {run["verdict"] for run in over} == {"pass"}
        assert most_at_a_time(over) == JOBS


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_runs_of_one_client_before_one_of_another(place: Path, jobs: int) -> None:
    gate = place / "gate"
    with Daemon("--jobs", str(jobs)) as daemon:
        busy = [daemon.submit(gated(gate, client="busy"))["id"] for _ in range(jobs)]
        for run in busy:
            daemon.wait_for_call(run)
        busy += [daemon.submit(quick(client="busy"))["id"] for _ in range(MANY)]
        single = daemon.submit(quick(client="single"))["id"]
        gate.touch()
        started = times(daemon.wait_until_over(single))[0]
        # One of those that had no place yet may come first, for each place.
        before = [run for run in busy if (at := daemon.get(run)["startedAt"]) and at < iso(started)]
        assert len(before) <= 2 * jobs
        for run in reversed(busy):
            daemon.cancel(run)


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def test_a_spinning_adapter_makes_no_timeouts_of_other_verdicts() -> None:
    with Daemon("--jobs", "2") as daemon:
        spinning = zoo("step2=spin", limits={"callSeconds": 3600}, client="spinning")
        spinner = daemon.submit(spinning)["id"]
        daemon.wait_for_call(spinner)
        runs = [daemon.submit(quick(client="other"))["id"] for _ in range(REFERENCES)]
        for _ in range(2):  # They get no place while the other client waits for one.
            daemon.submit(spinning)
        reports = [daemon.wait_until_over(run)["report"] for run in runs]
        assert [report["verdict"] for report in reports] == ["pass"] * REFERENCES
        assert daemon.get(spinner)["state"] == "running"
        daemon.cancel(spinner)
        for run in daemon.client.get("/v1/runs", params={"client": "spinning"}).json()["runs"]:
            daemon.cancel(run["id"])
            assert daemon.wait_until_over(run["id"])["state"] == "cancelled"


def test_a_cancelled_run_is_never_driven(place: Path) -> None:
    """Its end is still being written when a place becomes free for it."""
    gate = place / "gate"
    answers: list[tuple[int, Any]] = []

    def cancel(daemon: Daemon, run: str) -> None:
        with closing(daemon.connection()) as connection:
            connection.request("POST", f"/v1/runs/{run}/cancel")
            answer = connection.getresponse()
            answers.append((answer.status, json.loads(answer.read())))

    with Daemon("--jobs", "1") as daemon:
        driven = daemon.submit(gated(gate))["id"]
        daemon.wait_for_call(driven)
        waiting = daemon.submit(quick())["id"]
        thread = threading.Thread(target=cancel, args=(daemon, waiting))
        with locked(daemon, *WRITE_LOCK):
            thread.start()
            wait_for(lambda: daemon.readiness()[1]["queued"] == 0, "that it is out of the queue")
            gate.touch()
            wait_for(lambda: daemon.readiness()[1]["running"] == 0, "a free place")
        thread.join()
        assert daemon.wait_until_over(driven)["verdict"] == "pass"
        over = daemon.wait_until_over(waiting)
        if answers[0][0] == 200:
            assert (over["state"], over["startedAt"]) == ("cancelled", None)
            assert [event.kind for event in daemon.events(waiting)] == ["end"]
        else:  # On a machine so busy that the lock outlasted the daemon's patience.
            assert answers[0][0] == 503
            assert over["state"] == "finished"


def test_cancelled_and_driven_at_the_same_time() -> None:
    """Whatever the answer to a cancellation says of a run stays true."""
    with Daemon("--jobs", "2") as daemon:
        runs = [daemon.submit(quick())["id"] for _ in range(40)]
        answered = [daemon.cancel(run) for run in runs]
        for run, answer in zip(runs, answered, strict=True):
            over = daemon.wait_until_over(run)
            if answer["state"] in {"cancelled", "finished"}:
                assert over["state"] == answer["state"]
            if over["state"] == "cancelled" and over["report"] is not None:
                assert over["report"]["interruptedBy"] == "cancellation"
        assert {daemon.get(run)["state"] for run in runs} <= {"cancelled", "finished"}


def test_a_hanging_run_is_cancelled_at_once() -> None:
    with Daemon("--jobs", "1") as daemon:
        run = daemon.submit(endless())["id"]
        daemon.wait_for_call(run)
        assert daemon.cancel(run)["state"] in {"running", "cancelled"}
        over = daemon.wait_until_over(run)
        assert (over["state"], over["verdict"], over["exitStatus"]) == (
            "cancelled",
            "incomplete",
            1,
        )
        assert daemon.family() == []

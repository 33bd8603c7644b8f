"""A full disk: what can't be kept is not taken, and what is driven meanwhile is told in the end."""

import os
import resource
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.cli.command import wait_for
from tests.daemon.running import Daemon, gated, quick
from tests.daemon.steady import steady

SIZE = "2m"
MOUNT = f'mkdir -m 700 "$0" && mount -t tmpfs -o mode=700,size={SIZE} tmpfs "$0" && exec "$@"'
MANY = 200
"""More runs than fit into what is left of a full disk."""


class Disk(ABC):
    """What a daemon's state is on."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    @abstractmethod
    def fill(self) -> None:
        """From now on nothing more can be written."""

    @abstractmethod
    def clear(self) -> None:
        """From now on it can be."""


class SmallDisk(Disk):
    """A small file system of the daemon's own, filled up by another program's file."""

    @property
    def _ballast(self) -> Path:
        # The mount is seen in the daemon's namespace alone.
        return Path(f"/proc/{self.daemon.process.pid}/root{self.daemon.state}/ballast")

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (65536, 1):
                with suppress(OSError):
                    while True:
                        ballast.write(b"\0" * size)
        assert os.statvfs(self._ballast).f_bavail == 0

    def clear(self) -> None:
        self._ballast.unlink()


class SmallFiles(Disk):
    """A limit on the size of the daemon's files."""

    def fill(self) -> None:
        largest = max(file.stat().st_size for file in self.daemon.state.iterdir())
        self._limit(largest)

    def clear(self) -> None:
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, size: int) -> None:
        process = psutil.Process(self.daemon.process.pid)
        process.rlimit(psutil.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(params=["small-disk", "small-files"])
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    with ExitStack() as stack:
        if request.param == "small-files":
            yield SmallFiles(stack.enter_context(Daemon("--jobs", "2")))
            return
        if not can_mount():
            pytest.skip("only root can mount a small file system")
        daemon = Daemon("--jobs", "2")
        daemon.within = ("unshare", "-m", "sh", "-c", MOUNT, str(daemon.state))
        yield SmallDisk(stack.enter_context(daemon))


def test_full_and_free_again(disk: Disk, place: Path) -> None:
    daemon, gate = disk.daemon, place / "gate"
    undisturbed = undisturbed_report(daemon, place)
    before = runs(daemon)
    driven = daemon.submit(gated(gate))["id"]
    daemon.wait_for_call(driven)

    disk.fill()
    key, taken = submit_until_refused(daemon)
    assert runs(daemon) == [*reversed(taken), driven, *before]
    assert daemon.client.get("/v1/runs", params={"key": key}).json()["total"] == 0

    gate.touch()
    wait_for(lambda: daemon.readiness()[0] == 503, "the end of readiness")
    status = daemon.readiness()[1]
    assert not status["ready"]
    assert "runs.sqlite3" in status["problem"]
    # It has no more to say than the disk could take, and nothing that is not true.
    assert daemon.get(driven)["state"] == "running"
    assert runs(daemon) == [*reversed(taken), driven, *before]
    assert daemon.client.get("/healthz").status_code == 200

    disk.clear()
    wait_for(lambda: daemon.readiness()[0] == 200, "readiness")
    over = daemon.wait_until_over(driven)
    assert (over["state"], over["verdict"]) == ("finished", "pass")
    report = over["report"]
    report["adapter"]["command"][-1] = undisturbed["adapter"]["command"][-1]
    assert steady(report) == steady(undisturbed)
    numbers = [event.number for event in daemon.events(driven) if event.kind != "end"]
    assert numbers == list(range(1, len(numbers) + 1))
    # The key that was refused was not remembered.
    again = daemon.client.post("/v1/runs", json=quick(), headers={"Idempotency-Key": key})
    assert again.status_code == 201
    for run in [*taken, again.json()["id"]]:
        assert daemon.wait_until_over(run)["verdict"] == "pass"
    assert "Traceback" not in daemon.log


def undisturbed_report(daemon: Daemon, place: Path) -> dict[str, Any]:
    gate = place / "open-gate"
    gate.touch()
    return dict(daemon.wait_until_over(daemon.submit(gated(gate))["id"])["report"])


def runs(daemon: Daemon) -> list[str]:
    """All of them, the newest first."""
    page = daemon.client.get("/v1/runs", params={"limit": 200}).json()
    return [run["id"] for run in page["runs"]]


def submit_until_refused(daemon: Daemon) -> tuple[str, list[str]]:
    """Submits runs until one is refused; its key, and the runs that were taken."""
    taken: list[str] = []
    for number in range(MANY):
        key = f"{number}"
        answer = daemon.client.post("/v1/runs", json=quick(), headers={"Idempotency-Key": key})
        if answer.status_code == 503:
            check_refusal(daemon, answer)
            return key, taken
        assert answer.status_code == 201
        taken.append(answer.json()["id"])
    raise AssertionError("the disk was never full")


def check_refusal(daemon: Daemon, answer: httpx2.Response) -> None:
    assert int(answer.headers["Retry-After"]) > 0
    problem = answer.json()["error"]
    assert problem["code"] == "store-unavailable"
    assert str(daemon.state / "runs.sqlite3") in problem["message"]
    assert "Is its disk full" in problem["message"]


@pytest.mark.parametrize("disk", ["small-files"], indirect=True)
def test_stopped_while_full(disk: Disk, place: Path) -> None:
    """What could not be written is lost; what was written says of the run that it is unknown."""
    daemon, gate = disk.daemon, place / "gate"
    driven = daemon.submit(gated(gate))["id"]
    daemon.wait_for_call(driven)
    disk.fill()
    gate.touch()
    wait_for(lambda: daemon.readiness()[0] == 503, "the end of readiness")
    assert daemon.stop() == 0
    daemon.restart()
    over = daemon.wait_until_over(driven)
    assert (over["state"], over["verdict"]) == ("interrupted", "incomplete")
    assert over["report"]["interruptedBy"] == "daemon death"

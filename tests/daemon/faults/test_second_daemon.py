"""A second daemon in the place of a first, and what else may be in the place of a socket."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.running import Daemon, quick


@contextmanager
def another(first: Daemon) -> Iterator[Daemon]:
    """One that has its own state and socket until it is given others; it is not started."""
    second = Daemon()
    second.socket, second.state = first.folder / "s2", first.folder / "state-2"
    try:
        yield second
    finally:
        second.remove()


def check_refused(refused: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    assert refused.returncode == status
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 2, refused.stderr
    for word in words:
        assert word in refused.stderr


def check_is_well(daemon: Daemon) -> None:
    assert daemon.readiness()[0] == 200
    assert daemon.wait_until_over(daemon.submit(quick())["id"])["verdict"] == "pass"


def test_on_the_same_state() -> None:
    with Daemon() as first, another(first) as second:
        second.state = first.state
        pid, socket = str(first.process.pid), str(first.socket)
        check_refused(second.refused(), 1, f"process {pid}", socket, f"kill {pid}")
        assert not second.socket.exists()
        check_is_well(first)
        # The kernel takes the lock back, however the first has died.
        first.kill()
        check_is_well(second.start())
        assert second.stop() == 0


def test_on_the_same_state_and_socket() -> None:
    with Daemon() as first, another(first) as second:
        second.state, second.socket = first.state, first.socket
        check_refused(second.refused(), 1, f"process {first.process.pid}")
        check_is_well(first)


def test_on_the_same_socket_with_another_state() -> None:
    with Daemon() as first, another(first) as second:
        second.socket = first.socket
        check_refused(second.refused(), 1, str(first.socket), "retryproof status")
        check_is_well(first)


def test_two_side_by_side() -> None:
    with Daemon() as first, another(first) as second:
        second.start()
        first.submit(quick())
        assert second.client.get("/v1/runs").json()["total"] == 0
        assert second.stop() == 0
        check_is_well(first)


def test_many_that_start_at_once() -> None:
    """Exactly one of them gets the place, and it is well."""
    with Daemon() as first:
        assert first.stop() == 0
        rivals = [
            subprocess.Popen(
                first.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(4)
        ]
        lines = [line_of(rival) for rival in rivals]
        (winner,) = [rival for rival, line in zip(rivals, lines, strict=True) if line]
        assert first.client.get("/readyz").json()["pid"] == winner.pid
        winner.terminate()
        for rival in rivals:
            stderr = rival.communicate()[1]
            assert (rival.returncode == 0) == (rival is winner), stderr
            assert rival is winner or "daemon" in stderr
        first.start()


def line_of(process: subprocess.Popen[str]) -> str:
    """What it says when it is ready; nothing if it refuses."""
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_stale_socket_is_replaced() -> None:
    with Daemon() as daemon:
        daemon.kill()
        stale = daemon.socket.stat()
        assert daemon.socket.is_socket()
        daemon.restart()
        assert daemon.socket.stat().st_mtime_ns != stale.st_mtime_ns
        assert daemon.socket.stat().st_mode & 0o777 == 0o600
        check_is_well(daemon)


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_socket_is_kept(place: Path, kind: str) -> None:
    precious = place / "precious"
    precious.write_text("precious")
    with Daemon() as daemon:
        assert daemon.stop() == 0
        if kind == "file":
            daemon.socket.write_text("precious")
        elif kind == "folder":
            daemon.socket.mkdir()
        else:
            daemon.socket.symlink_to(precious)
        before = identity(daemon.socket)
        check_refused(daemon.refused(), 2, str(daemon.socket), "--socket")
        assert identity(daemon.socket) == before
        if kind != "folder":
            assert daemon.socket.read_text() == "precious"


def identity(path: Path) -> tuple[int, int, int]:
    about = path.lstat()
    return about.st_ino, about.st_mode, about.st_mtime_ns


def test_the_socket_of_another_that_took_the_place_is_left() -> None:
    """Somebody has removed the first one's socket, and another listens at its name now."""
    with Daemon() as first, another(first) as second:
        first.socket.unlink()
        second.socket = first.socket
        second.start()
        first.process.terminate()
        first.process.communicate()
        assert first.process.returncode == 0
        check_is_well(second)
        assert second.stop() == 0

"""One daemon a state folder; the lock outlives nobody."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from retryproof.daemon.lock import DaemonDescription, HeldLock, hold_lock
from retryproof.errors import EXIT_FAILED, DaemonRunningError, FileError

from tests.daemon.users import as_root, give_away

US = DaemonDescription(os.getpid(), "/run/us.sock")
HOLDER = """
import os, sys
from pathlib import Path
from retryproof.daemon.lock import DaemonDescription, hold_lock
lock = hold_lock(Path(sys.argv[1]), DaemonDescription(os.getpid(), "/run/other.sock"))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def refused(path: Path) -> DaemonRunningError:
    with pytest.raises(DaemonRunningError) as raised:
        hold_lock(path, US)
    return raised.value


def test_a_second_daemon_is_told_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        error = refused(path)
        assert f"process {process.pid}" in error.message
        assert "/run/other.sock" in error.message
        assert str(tmp_path) in error.message
        assert f"kill {process.pid}" in error.advice
        assert error.exit_status == EXIT_FAILED


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_lock_goes_with_its_holder(tmp_path: Path, number: int) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        process.send_signal(number)
        process.wait()
        lock = hold_lock(path, US)
        assert "us.sock" in refused(path).message
        lock.release()


def test_a_released_lock_can_be_had(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = hold_lock(path, US)
    assert path.stat().st_mode & 0o777 == 0o600
    first.release()
    first.release()
    second: HeldLock = hold_lock(path, DaemonDescription(1, "/second.sock"))
    assert "/second.sock" in refused(path).message
    second.release()


def test_programs_that_the_holder_starts_do_not_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = hold_lock(path, US)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False):
        lock.release()
        hold_lock(path, US).release()


@pytest.mark.parametrize("content", [b"", b"no json", b"{}", b'{"pid": "1"}', b"\xff" * 9000])
def test_a_holder_that_has_not_said_who_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    lock = hold_lock(path, US)
    path.write_bytes(content)
    assert "just starting" in refused(path).message
    lock.release()


def test_a_link_in_place_of_the_lock(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    victim.chmod(0o600)
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(FileError, match="symbolic link"):
        hold_lock(tmp_path / "lock", US)
    assert victim.read_bytes() == b"precious"


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(FileError, match="not a regular file"):
            hold_lock(tmp_path / name, US)
    with pytest.raises(FileError, match="can't be opened"):
        hold_lock(tmp_path / "missing" / "lock", US)


def test_a_file_that_others_could_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    path.chmod(0o644)
    with pytest.raises(FileError) as raised:
        hold_lock(path, US)
    assert f"chmod 600 {path}" in raised.value.advice


@as_root
def test_a_file_of_another_user(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch(mode=0o600)
    give_away(path)
    with pytest.raises(FileError, match="another user"):
        hold_lock(path, US)

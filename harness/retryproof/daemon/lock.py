"""One daemon a state folder: a lock that the kernel takes back, however its holder dies."""

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import DaemonRunningError, FileError
from ..private_files import check_private_file

_MAX_DESCRIPTION_BYTES = 4096
"""A process number and a path of at most 107 bytes, escaped, are far shorter."""


class DaemonDescription(Struct, frozen=True):
    """What the holder of a lock says of itself: its process number, and where it listens."""

    pid: int
    socket: str


class HeldLock:
    """A lock that is held until it is released, or the process is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Lets others have it. The file stays: to remove it could give two the lock."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def hold_lock(path: Path, description: DaemonDescription) -> HeldLock:
    """Takes the lock, without waiting, and leaves the description in its file.

    Raises:
        DaemonRunningError: another process has it; what that one says of itself is told.
        FileError: the file can't be made, or is not what it must be (no symbolic link is
            followed).
    """
    descriptor = _open(path)
    try:
        check_private_file(path, os.fstat(descriptor))
        _lock(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(description), 0)
    except OSError as error:
        os.close(descriptor)
        raise FileError(f"The lock {path} can't be used: {error.strerror}.") from None
    except BaseException:
        os.close(descriptor)
        raise
    return HeldLock(descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        with contextlib.suppress(OSError):
            check_private_file(path, os.lstat(path))
        raise FileError(f"The lock {path} can't be opened: {error.strerror}.") from None


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _already_running(path.parent, _read(descriptor)) from None


def _read(descriptor: int) -> DaemonDescription | None:
    try:
        text = os.pread(descriptor, _MAX_DESCRIPTION_BYTES, 0)
        return msgspec.json.decode(text, type=DaemonDescription)
    except (OSError, msgspec.DecodeError):
        return None


def _already_running(state: Path, other: DaemonDescription | None) -> DaemonRunningError:
    if other is None:
        # It has the lock, but had no time yet to say who it is.
        return DaemonRunningError(
            f"Another daemon is just starting on the state folder {state}.",
            "Use that one, or start this one with a --state and a --socket of its own.",
        )
    return DaemonRunningError(
        f"A daemon already runs on the state folder {state}: process {other.pid},"
        f" at the socket {other.socket}.",
        f"Use that one, stop it with `kill {other.pid}`, or start this one with a --state and a"
        " --socket of its own.",
    )

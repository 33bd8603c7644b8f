"""The harness's end of a guard: launches adapters under it, and learns when they are gone."""

import contextlib
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Struct

from . import descendants
from .guard_process import MAX_MESSAGE_BYTES, become_subreaper
from .limits import Limits

_START_GUARD = (
    f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); "
    "from retryproof.supervise.guard_process import main; main(int(sys.argv[1]), sys.argv[2])"
)
"""Imported rather than run as a script, so that its compiled form is used."""
ANSWER_LIMIT_SECONDS = 5.0
"""A guard answers within milliseconds; one that does not has been stopped or killed."""

_SHELL_SIGNAL_BASE = 128
"""A sandbox reports the death of its program by signal n as a shell does, as status 128 + n."""

Containment: TypeAlias = Literal["guard", "group", "bwrap"]


class Command(Struct, frozen=True):
    """A program to start without a shell: its arguments, environment and folder.

    If it `is_sandboxed`, the program is bubblewrap, and the adapter what that one starts.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    cwd: str
    is_sandboxed: bool = False


class Exceeded(Struct, frozen=True):
    """A limit that was passed: how much there was, and how much was allowed."""

    name: Literal["memory", "processes", "output"]
    value: int
    allowed: int


class Gone(Struct, frozen=True):
    """The account of an adapter of which no process is left.

    `status` is the exit code of its first process, a negative signal number, or None where the
    guard was lost and nobody could say. `strays` counts the processes beside the first one
    that had to be killed.
    """

    status: int | None = None
    strays: int = 0
    stray_commands: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    peak_rss_bytes: int = 0
    clear_seconds: float = 0.0
    exceeded: Exceeded | None = None
    guard_lost: bool = False


class LaunchRefusedError(Exception):
    """The system would not start the command: `stage` is "cwd", "exec", "limits" or "start"."""

    def __init__(self, stage: str, reason: str, error_number: int | None) -> None:
        super().__init__(reason)
        self.stage = stage
        self.reason = reason
        self.error_number = error_number


class GuardLostError(Exception):
    """The guard process is dead or does not answer."""


class Guard:
    """One guard process, for one adapter at a time. Used by one thread at a time."""

    _living: ClassVar[set[int]] = set()
    _birth: ClassVar[threading.Lock] = threading.Lock()
    """Held while a guard is started but not yet known as one, or what is none is killed."""

    def __init__(self, wanted: Containment = "guard") -> None:
        become_subreaper()
        self._wanted = wanted
        self._run = 0
        self._root_pid: int | None = None
        self._is_sandboxed = False
        self.containment: Containment = wanted
        self._start_process()

    def fileno(self) -> int:
        """The control socket: readable when the adapter is gone, or the guard lost."""
        return self._control.fileno()

    @property
    def pid(self) -> int:
        """The guard's own process number."""
        return self._process.pid

    def launch(self, command: Command, descriptors: tuple[int, int, int], limits: Limits) -> int:
        """Starts the command on stdin, stdout and stderr; its process number.

        Raises:
            LaunchRefusedError: the system would not start it.
            GuardLostError: the guard did not answer.
        """
        self._run += 1
        message = {
            "do": "launch",
            "run": self._run,
            "argv": command.argv,
            "env": command.environment,
            "cwd": command.cwd,
            "resource_limits": {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": limits.open_files},
            "tree_limits": {"memory": limits.memory_bytes, "processes": limits.processes},
            "sandboxed": command.is_sandboxed,
        }
        self._send(json.dumps(message).encode(), descriptors)
        answer = self._receive(ANSWER_LIMIT_SECONDS)
        if answer["say"] == "refused":
            raise LaunchRefusedError(answer["stage"], answer["reason"], answer["errno"])
        self.containment = "bwrap" if command.is_sandboxed else answer["containment"]
        self._root_pid = int(answer["pid"])
        self._is_sandboxed = command.is_sandboxed
        return self._root_pid

    def clear(self) -> Gone:
        """Kills whatever is left of the adapter; returns when no process of it is alive."""
        escapable = descendants.snapshot(self._root_pid) if self.containment == "group" else []
        try:
            self._send(json.dumps({"do": "kill", "run": self._run}).encode(), ())
            gone = self.wait_gone(ANSWER_LIMIT_SECONDS)
        except GuardLostError:
            gone = self._clear_without_guard()
        descendants.kill(escapable)
        return _with_strays(gone, escapable)

    def wait_gone(self, limit_seconds: float) -> Gone:
        """Waits for the guard's word that no process of the adapter is left.

        Raises:
            GuardLostError: it did not come in time, or the guard is dead.
        """
        answer = self._receive(limit_seconds)
        self._root_pid = None
        gone = msgspec.convert(answer, Gone)
        if self._is_sandboxed and gone.status is not None and gone.status > _SHELL_SIGNAL_BASE:
            return msgspec.structs.replace(gone, status=_SHELL_SIGNAL_BASE - gone.status)
        return gone

    def close(self) -> None:
        """Ends the guard, and with it all that the adapter may have left."""
        self._control.close()
        self._reap_process()

    def _start_process(self) -> None:
        kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
        self._control, theirs = socket.socketpair(socket.AF_UNIX, kind)
        arguments = (str(theirs.fileno()), self._wanted)
        with theirs, Guard._birth:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START_GUARD, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            Guard._living.add(self._process.pid)
        self._born_at = descendants.birth_of(self._process.pid)

    def _reap_process(self) -> None:
        try:
            self._process.wait(ANSWER_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        Guard._living.discard(self._process.pid)

    def _clear_without_guard(self) -> Gone:
        """The adapter killed or stopped its guard: its processes are this process's orphans."""
        started = time.monotonic()
        root_pid, self._root_pid = self._root_pid, None
        self._control.close()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        Guard._living.discard(self._process.pid)
        with Guard._birth:
            killed = descendants.clear_orphans(frozenset(Guard._living), self._born_at)
        self._start_process()
        strays = [stray for stray in killed if stray.process.pid != root_pid]
        return _with_strays(Gone(clear_seconds=time.monotonic() - started, guard_lost=True), strays)

    def _send(self, data: bytes, descriptors: tuple[int, ...]) -> None:
        try:
            socket.send_fds(self._control, [data], descriptors)
        except ConnectionError as error:
            raise GuardLostError from error
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise
            raise LaunchRefusedError("exec", os.strerror(errno.E2BIG), errno.E2BIG) from None

    def _receive(self, limit_seconds: float) -> dict[str, Any]:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(limit_seconds * 1000):
            raise GuardLostError
        with contextlib.suppress(ConnectionError):
            if data := self._control.recv(MAX_MESSAGE_BYTES):
                return dict(json.loads(data))
        raise GuardLostError


def _with_strays(gone: Gone, more: Sequence[descendants.Stray]) -> Gone:
    commands = tuple(stray.command for stray in more)
    return msgspec.structs.replace(
        gone, strays=gone.strays + len(more), stray_commands=gone.stray_commands + commands
    )

"""The guard: a small process that owns one adapter's whole process tree.

Runs as `main(CONTROL_FD, CONTAINMENT)` under `python -I -S`, single-threaded, standard library
only, and as little of that as can be: its start is a part of each run. It is a child subreaper:
whatever the adapter starts, however often it forks or changes its session, becomes the guard's
child once its own parent is dead. On "kill", on the adapter's exit, and on end of file of the
control socket (the harness died) it kills every child that it has or inherits until the kernel
says that none is left, and reaps them all.

The control socket carries one JSON object a message:
    {"do": "launch", "run", "argv", "env", "cwd", "limits"} with stdin, stdout, stderr attached
    {"do": "kill", "run"}
    {"say": "launched", "run", "pid", "containment"} or {"say": "refused", "run", ...}
    {"say": "gone", "run", ...}: exactly one for each run that was launched
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_MESSAGE_BYTES = 1024 * 1024
_PR_SET_CHILD_SUBREAPER = 36
_MAX_NAMED_STRAYS = 50
_MAX_COMMAND_BYTES = 200
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def become_subreaper() -> bool:
    """Whether this process now inherits the orphans among its descendants (Linux only)."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def children_of(pid: int) -> list[int]:
    """The direct children of a process, those waiting to be reaped included."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as listing:
            return [int(child) for child in listing.read().split()]
    except OSError:
        return []


def describe_process(pid: int) -> str | None:
    """The command line of a living process, or None if it is dead or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as status:
            name, _, rest = status.read().partition(b"(")[2].rpartition(b")")
        if rest.split()[0] in {b"Z", b"X"}:
            return None
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            arguments = line.read(_MAX_COMMAND_BYTES).rstrip(b"\0").replace(b"\0", b" ")
    except (OSError, IndexError):
        return None
    return (arguments or b"[" + name + b"]").decode("utf-8", "backslashreplace")


class Tree:
    """The adapter's process and everything that descends from it.

    If it is not `contained`, only its first process and that one's group are within reach.
    """

    def __init__(self, run: int, root: int, contained: bool) -> None:
        self.run = run
        self._root = root
        self._contained = contained
        self._root_status: int | None = None
        self._strays: dict[int, str] = {}
        self._cpu_seconds = 0.0
        self._peak_rss_bytes = 0

    def reap_the_dead(self) -> bool:
        """Reaps adopted processes that ended by themselves. Whether the root is dead.

        A dead root stays unreaped: its number also names its process group, which must not
        be free for reuse before the group has been killed.
        """
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if dead is None:
                return False
            if dead.si_pid == self._root:
                return True
            self._reap(dead.si_pid)

    def clear(self) -> dict[str, Any]:
        """Kills and reaps until no process is left, and returns the account of it."""
        started = time.monotonic()
        if self._contained:
            self._note_strays(os.getpid())
        self._kill_group()
        while self._kill_children():
            self._reap_at_least_one()
        return {
            "say": "gone",
            "run": self.run,
            "status": self._root_status,
            "strays": len(self._strays),
            "stray_commands": list(self._strays.values())[:_MAX_NAMED_STRAYS],
            "cpu_seconds": self._cpu_seconds,
            "peak_rss_bytes": self._peak_rss_bytes,
            "clear_seconds": time.monotonic() - started,
        }

    def _note_strays(self, parent: int) -> None:
        for pid in children_of(parent):
            command = describe_process(pid)
            if command is not None and pid != self._root:
                self._strays.setdefault(pid, command)
            self._note_strays(pid)

    def _kill_group(self) -> None:
        # The root may not have come to setsid yet: then it is killed as a direct child.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, signal.SIGKILL)

    def _kill_children(self) -> bool:
        """Signals each child; whether there is any, be it only one waiting to be reaped."""
        me = os.getpid()
        root = [] if self._root_status is not None else [self._root]
        inherited = children_of(me) if self._contained else []
        for pid in {*root, *inherited}:
            if pid != self._root and pid not in self._strays:
                self._note_strays(me)
            # It is unreaped, and nobody else reaps it: the number can't be anyone else's.
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def _reap_at_least_one(self) -> None:
        flags = os.WEXITED | os.WNOWAIT
        try:
            while (dead := os.waitid(os.P_ALL, 0, flags)) is not None:
                self._reap(dead.si_pid)
                flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        except ChildProcessError:
            return

    def _reap(self, pid: int) -> None:
        _, status, usage = os.wait4(pid, 0)
        # ru_maxrss is in KiB, but on macOS in bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        self._cpu_seconds += usage.ru_utime + usage.ru_stime
        self._peak_rss_bytes = max(self._peak_rss_bytes, usage.ru_maxrss * unit)
        if pid == self._root:
            self._root_status = os.waitstatus_to_exitcode(status)


class Guard:
    """Serves one control socket until its other end is closed."""

    def __init__(self, control: socket.socket, containment: str) -> None:
        self._control = control
        self._containment = containment
        self._tree: Tree | None = None
        self._wakeups, wakeup_writer = os.pipe()
        for end in (self._wakeups, wakeup_writer):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        for ignored in _IGNORED_SIGNALS:
            signal.signal(ignored, signal.SIG_IGN)

    def serve(self) -> None:
        """Runs until the harness closes the control socket or dies; leaves no process."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wakeups, select.POLLIN)
        connected = True
        while connected:
            ready = {fd for fd, _ in poll.poll()}
            if self._wakeups in ready:
                os.read(self._wakeups, 4096)
            if self._tree is not None and self._tree.reap_the_dead():
                self._clear()
            if self._control.fileno() in ready:
                connected = self._serve_message()
        self._clear()

    def _serve_message(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 3)
        except ConnectionError:
            return False
        for descriptor in descriptors:
            # recv_fds has no MSG_CMSG_CLOEXEC: they would leak into the next launch.
            os.set_inheritable(descriptor, False)
        if not data:
            return False
        message = json.loads(data)
        if message["do"] == "launch":
            self._launch(message, descriptors)
        elif self._tree is not None and self._tree.run == message["run"]:
            self._clear()
        return True

    def _clear(self) -> None:
        if self._tree is not None:
            account = self._tree.clear()
            self._tree = None
            self._say(account)

    def _launch(self, message: dict[str, Any], descriptors: list[int]) -> None:
        error_reader, error_writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become_adapter(message, descriptors, error_writer)
        for descriptor in (*descriptors, error_writer):
            os.close(descriptor)
        self._tree = Tree(message["run"], pid, self._containment == "guard")
        with open(error_reader, "rb") as errors:
            refusal = errors.read()
        if refusal:
            self._tree.clear()
            self._tree = None
            self._say({"say": "refused", "run": message["run"], **json.loads(refusal)})
        else:
            self._say(
                {
                    "say": "launched",
                    "run": message["run"],
                    "pid": pid,
                    "containment": self._containment,
                }
            )

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except OSError:
            # The harness is dead: the next receive says so, and everything is cleared.
            return


def _become_adapter(message: dict[str, Any], descriptors: list[int], error_writer: int) -> None:
    """In the forked child: turns into the adapter, or writes why not and leaves."""
    stage = "start"
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED_SIGNALS, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        stage = "limits"
        for name, value in message["limits"].items():
            _limit(getattr(resource, name), value)
        stage = "cwd"
        os.chdir(message["cwd"])
        stage = "exec"
        os.execvpe(message["argv"][0], message["argv"], message["env"])  # noqa: S606
    except (OSError, ValueError) as error:
        refusal = {"stage": stage, "errno": getattr(error, "errno", None), "reason": str(error)}
        os.write(error_writer, json.dumps(refusal).encode())
    finally:
        os._exit(127)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (allowed, allowed))


def main(descriptor: int, wanted: str) -> None:
    """Serves the control socket of this number, with the wanted containment if it can be had."""
    os.set_inheritable(descriptor, False)
    contained = wanted == "guard" and become_subreaper()
    with socket.socket(fileno=descriptor) as control:
        Guard(control, "guard" if contained else "group").serve()

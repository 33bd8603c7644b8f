"""The guard: a small process that owns one adapter's whole process tree.

Runs as `main(CONTROL_FD, CONTAINMENT)` under `python -I -S`, single-threaded, standard library
only, and as little of that as can be: its start is a part of each run. It is a child subreaper:
whatever the adapter starts, however often it forks or changes its session, becomes the guard's
child once its own parent is dead. On "kill", on the adapter's exit, when the tree is over a
limit, and on end of file of the control socket (the harness died) it kills every child that it
has or inherits until the kernel says that none is left, and reaps them all.

The control socket carries one JSON object a message:
    {"do": "launch", "run", "argv", "env", "cwd", "resource_limits", "tree_limits", "sandboxed"}
        with stdin, stdout, stderr attached
    {"do": "kill", "run"}
    {"say": "launched", "run", "pid", "containment"} or {"say": "refused", "run", ...}
    {"say": "gone", "run", ...}: exactly one for each run that was launched
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time

from .guarded_tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_MESSAGE_BYTES = 1024 * 1024
_PR_SET_CHILD_SUBREAPER = 36
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_MEASURE_EVERY_SECONDS = 0.05
"""Often enough that a tree can't outgrow the machine in between; costs a thousandth of a CPU."""


def become_subreaper() -> bool:
    """Whether this process now inherits the orphans among its descendants (Linux only)."""
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class Guard:
    """Serves one control socket until its other end is closed."""

    def __init__(self, control: socket.socket, containment: str) -> None:
        self._control = control
        self._containment = containment
        self._tree: Tree | None = None
        self._tree_limits: dict[str, int] = {}
        self._measured_at = 0.0
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
            wait_ms = None if self._tree is None else _MEASURE_EVERY_SECONDS * 1000
            ready = {fd for fd, _ in poll.poll(wait_ms)}
            if self._wakeups in ready:
                os.read(self._wakeups, 4096)
            if self._tree is not None and (self._tree.reap_the_dead() or self._is_over_limit()):
                self._clear()
            if self._control.fileno() in ready:
                connected = self._serve_message()
        self._clear()

    def _is_over_limit(self) -> bool:
        now = time.monotonic()
        if self._tree is None or now < self._measured_at + _MEASURE_EVERY_SECONDS:
            return False
        self._measured_at = now
        return self._tree.exceeds(self._tree_limits)

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
        contained = self._containment == "guard"
        tree = Tree(message["run"], pid, contained, message["sandboxed"])
        with open(error_reader, "rb") as errors:
            refusal = errors.read()
        answer = {"run": message["run"], "pid": pid, "containment": self._containment}
        if refusal:
            tree.clear()
            self._say({"say": "refused", **answer, **json.loads(refusal)})
            return
        self._tree, self._tree_limits = tree, message["tree_limits"]
        self._say({"say": "launched", **answer})

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except OSError:
            # The harness is dead: the next receive says so, and everything is cleared.
            return


def _become_adapter(message: dict[str, Any], descriptors: list[int], error_writer: int) -> NoReturn:
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
        for name, value in message["resource_limits"].items():
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

"""An adapter's process tree as its guard sees it: counted, measured, killed, reaped.

Standard library only, and little of that: it is a part of the guard process. It reads `/proc`
itself, since psutil walks all processes of the machine to find the children of one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MAX_NAMED_STRAYS = 50
_MAX_COMMAND_BYTES = 200
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Tree:
    """The adapter's first process and everything that descends from it.

    If it is not `contained`, only its first process and that one's group are within reach. If it
    is `sandboxed`, the first process is the sandbox's monitor, and the adapter the second process
    of another process namespace.
    """

    def __init__(self, run: int, root: int, contained: bool, sandboxed: bool) -> None:
        self.run = run
        self._root = root
        self._contained = contained
        self._sandboxed = sandboxed
        self._root_status: int | None = None
        self._strays: dict[int, str] = {}
        self._cpu_seconds = 0.0
        self._peak_rss_bytes = 0
        self._exceeded: dict[str, Any] | None = None

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

    def exceeds(self, limits: dict[str, int]) -> bool:
        """Measures the tree, and notes the first of the limits that it is over.

        `limits` has "memory" in bytes, resident in all processes together (shared pages
        count in each), and "processes".
        """
        processes = list(self._descendants(os.getpid()))
        memory_bytes = sum(map(_resident_bytes, processes))
        self._peak_rss_bytes = max(self._peak_rss_bytes, memory_bytes)
        for name, value in (("memory", memory_bytes), ("processes", len(processes))):
            if value > limits[name]:
                self._exceeded = {"name": name, "value": value, "allowed": limits[name]}
                return True
        return False

    def clear(self) -> dict[str, Any]:
        """Kills and reaps until no process is left, and returns the account of it."""
        started = time.monotonic()
        self._note_strays()
        # The root may not have come to setsid yet: then it is killed as a direct child.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, signal.SIGKILL)
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
            "exceeded": self._exceeded,
        }

    def _descendants(self, pid: int) -> Iterator[int]:
        for child in children_of(pid) if self._contained else ():
            yield child
            yield from self._descendants(child)

    def _note_strays(self) -> None:
        for pid in self._descendants(os.getpid()):
            command = describe_process(pid)
            if command is not None and not self._is_expected(pid):
                self._strays.setdefault(pid, command)

    def _is_expected(self, pid: int) -> bool:
        return pid == self._root or (self._sandboxed and _is_first_in_its_namespace(pid))

    def _kill_children(self) -> bool:
        """Signals each child; whether there is any, be it only one waiting to be reaped."""
        root = [] if self._root_status is not None else [self._root]
        inherited = children_of(os.getpid()) if self._contained else []
        if any(pid != self._root and pid not in self._strays for pid in inherited):
            self._note_strays()
        for pid in {*root, *inherited}:
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


def children_of(pid: int) -> list[int]:
    """The direct children of a process, eldest first, those waiting to be reaped included."""
    children: list[int] = []
    try:
        # A child belongs to the thread that forked it.
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as listing:
                children += map(int, listing.read().split())
    except OSError:
        pass
    return children


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


def _is_first_in_its_namespace(pid: int) -> bool:
    """Whether it is the first process of a sandbox's namespace, or the adapter that one starts."""
    try:
        with open(f"/proc/{pid}/status") as status:
            numbers = next(line.split()[1:] for line in status if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return False
    return len(numbers) > 1 and numbers[-1] in {"1", "2"}


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0

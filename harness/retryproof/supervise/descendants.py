"""The second line: for systems without a subreaper, and for an adapter that kills its guard."""

import contextlib
import os
from collections.abc import Sequence

import psutil
from msgspec import Struct


class Stray(Struct, frozen=True):
    """A process beside the adapter's first one."""

    process: psutil.Process
    command: str


def birth_of(pid: int) -> float:
    """When a process of ours started; comparable with other births only.

    The kernel counts in hundredths from a boot time in whole seconds, which no other clock
    agrees with.
    """
    return psutil.Process(pid).create_time()


def snapshot(root_pid: int | None) -> list[Stray]:
    """All descendants of a process that psutil finds now: those re-parented already are lost."""
    if root_pid is None:
        return []
    try:
        found = psutil.Process(root_pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [Stray(process, _command_of(process)) for process in found]


def kill(strays: Sequence[Stray]) -> None:
    """Kills those that are still alive; psutil sees to it that a reused number is spared."""
    for stray in strays:
        with contextlib.suppress(psutil.NoSuchProcess):
            stray.process.kill()


def clear_orphans(spare: frozenset[int], since: float) -> list[Stray]:
    """Kills and reaps what a dead guard has left to this process, until nothing is left.

    This process is a subreaper, so it inherits what the guard had. Of its children it takes
    those in a session other than its own that are not older than `since`, a birth by
    `birth_of`, except the numbers in `spare`.
    """
    killed: dict[int, Stray] = {}
    while orphans := _orphans(spare, since):
        for orphan in orphans:
            killed.setdefault(orphan.pid, Stray(orphan, _command_of(orphan)))
            orphan.kill()
        for orphan in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan.pid, 0)
    return list(killed.values())


def _orphans(spare: frozenset[int], since: float) -> list[psutil.Process]:
    own_session = os.getsid(0)
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            is_ours = child.pid in spare or child.create_time() < since
            if not is_ours and os.getsid(child.pid) != own_session:
                found.append(child)
    return found


def _command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or f"[{process.name()}]"
    except psutil.Error:
        return "?"

"""Long use, compressed into counts: nothing grows. Run with `pytest -m soak`."""

import os
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from retryproof.errors import AdapterError
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session
from retryproof_protocol.messages import Operation

from bench.calls import compile_c_adapter
from tests.driving import BUNDLE
from tests.toolchains import needs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900), needs("cc")]

RESPAWNS = 5_000
OPEN_FILES = 64
LAUNCHES = 1_000
CALLS_A_LAUNCH = 100
OPERATION = Operation(0, "A", "A", "received")
MEMORY_SLACK_BYTES = 4 * 1024 * 1024


@pytest.fixture
def few_open_files() -> Iterator[None]:
    """As many as a shell gives under `ulimit -n 64`, beyond those that the test runner holds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held + OPEN_FILES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def usage(guard: Guard) -> tuple[int, int, int, int]:
    """Descriptors, threads, processes, and the guard's descriptors."""
    me, guarding = psutil.Process(), psutil.Process(guard.pid)
    return (
        me.num_fds(),
        threading.active_count(),
        len(me.children(recursive=True)),
        guarding.num_fds(),
    )


def resident_bytes(guard: Guard) -> int:
    return int(psutil.Process().memory_info().rss + psutil.Process(guard.pid).memory_info().rss)


def stays_flat(guard: Guard, act: Callable[[], None], times: int) -> None:
    for _ in range(times // 10):
        act()
    used, memory_bytes = usage(guard), resident_bytes(guard)
    for _ in range(times - times // 10):
        act()
    assert usage(guard) == used
    assert resident_bytes(guard) <= memory_bytes + MEMORY_SLACK_BYTES


@pytest.mark.usefixtures("few_open_files")
def test_five_thousand_respawns_of_a_crashing_adapter(guard: Guard, cancel: CancelToken) -> None:
    command = Command(("/bin/false",), {}, "/")

    def respawn() -> None:
        session = Session(guard, command, Limits(), cancel)
        with pytest.raises(AdapterError):
            session.initialize(BUNDLE.reference)

    stays_flat(guard, respawn, RESPAWNS)


def test_a_thousand_launches_of_a_hundred_calls(
    guard: Guard, cancel: CancelToken, tmp_path: Path
) -> None:
    command = Command(compile_c_adapter(tmp_path), {}, "/")

    def use() -> None:
        session = Session(guard, command, Limits(), cancel)
        session.initialize(BUNDLE.reference)
        for _ in range(CALLS_A_LAUNCH):
            session.step(OPERATION)
        assert session.shut_down() == ()

    stays_flat(guard, use, LAUNCHES)

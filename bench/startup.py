"""From launch to the first answer, beside the interpreter's own start."""

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from retryproof.app import contract_bundle
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session

from .calls import command_of

TRIALS = 15


class Startup(Struct, frozen=True):
    """Median milliseconds: alone, under a guard that runs, with a new one, in the sandbox."""

    bare_ms: float
    guarded_ms: float
    with_new_guard_ms: float
    sandboxed_ms: float | None


def measure(argv: tuple[str, ...]) -> Startup:
    """The same adapter in each way, in turn."""
    guard, cancel = Guard(), CancelToken()
    bare = command_of(argv, in_sandbox=False)
    ways: list[Callable[[], float]] = [
        partial(_bare, argv),
        partial(_guarded, guard, bare, cancel),
        partial(_with_new_guard, bare, cancel),
    ]
    if shutil.which("bwrap"):
        ways.append(partial(_guarded, guard, command_of(argv, in_sandbox=True), cancel))
    rows = [[way() for way in ways] for _ in range(TRIALS)]
    guard.close()
    cancel.close()
    medians = [_median_ms(column) for column in zip(*rows, strict=True)]
    bare_ms, guarded_ms, with_new_guard_ms, *sandboxed_ms = medians
    return Startup(
        bare_ms, guarded_ms, with_new_guard_ms, sandboxed_ms[0] if sandboxed_ms else None
    )


def _bare(argv: tuple[str, ...]) -> float:
    started = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
        process.stdin.flush()
        process.stdout.readline()
        elapsed = time.perf_counter() - started
        process.stdin.close()
    return elapsed


def _guarded(guard: Guard, command: Command, cancel: CancelToken) -> float:
    started = time.perf_counter()
    session = Session(guard, command, Limits(), cancel)
    session.initialize(contract_bundle().reference)
    elapsed = time.perf_counter() - started
    session.kill()
    return elapsed


def _with_new_guard(command: Command, cancel: CancelToken) -> float:
    started = time.perf_counter()
    guard = Guard()
    _guarded(guard, command, cancel)
    elapsed = time.perf_counter() - started
    guard.close()
    return elapsed


def _median_ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000


def interpreter_ms() -> float:
    """The median start of this interpreter, doing nothing."""
    times = []
    for _ in range(TRIALS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        times.append(time.perf_counter() - started)
    return _median_ms(times)

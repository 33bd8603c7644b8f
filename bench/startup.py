"""From launch to the first answer, beside the interpreter's own start."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from msgspec import Struct
from retryproof.app import contract_bundle
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session

TRIALS = 15


class Startup(Struct, frozen=True):
    """Median milliseconds: the program alone, under a guard that runs, and with a new guard."""

    bare_ms: float
    guarded_ms: float
    with_new_guard_ms: float


def measure(argv: tuple[str, ...]) -> Startup:
    """The same adapter three ways, in turn."""
    guard, cancel = Guard(), CancelToken()
    rows = [
        (_bare(argv), _guarded(guard, argv, cancel), _with_new_guard(argv, cancel))
        for _ in range(TRIALS)
    ]
    guard.close()
    cancel.close()
    return Startup(*(_median_ms(column) for column in zip(*rows, strict=True)))


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


def _guarded(guard: Guard, argv: tuple[str, ...], cancel: CancelToken) -> float:
    started = time.perf_counter()
    command = Command(argv, dict(os.environ), os.getcwd())
    session = Session(guard, command, Limits(), cancel)
    session.initialize(contract_bundle().reference)
    elapsed = time.perf_counter() - started
    session.kill()
    return elapsed


def _with_new_guard(argv: tuple[str, ...], cancel: CancelToken) -> float:
    started = time.perf_counter()
    guard = Guard()
    _guarded(guard, argv, cancel)
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

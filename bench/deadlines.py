"""How long past its deadline a call ends, and how long until the tree is gone."""

import contextlib
import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from retryproof.app import contract_bundle
from retryproof.errors import CallTimeoutError
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session
from retryproof_protocol.messages import Operation

from tests.zoo.table import ROWS

TRIALS = 40
DEADLINE_SECONDS = 0.2
SPINNING_WITH_CHILDREN = (
    sys.executable,
    "-c",
    """
import json, subprocess, sys
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(20)]
request = json.loads(sys.stdin.readline())
result = {"protocolVersion": 1, "adapter": {"name": "bench"}, "capabilities": {}}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
while True: pass
""",
)
FAULTY = Path(__file__).parent.parent / "fixtures/faulty/adapter.py"


def zoo_timeouts() -> list[tuple[str, ...]]:
    """The command of each behaviour of the zoo that ends in a timeout, moved to the first step."""
    return [
        (sys.executable, "-I", "-S", str(FAULTY), row.arguments[0].replace("step2", "step1"))
        for row in ROWS
        if row.kind == "timeout" and row.arguments[0].startswith("step2")
    ]


class Spread(Struct, frozen=True):
    """Milliseconds: half of the trials took at most p50, all but one in a hundred p99."""

    p50: float
    p99: float
    max: float


class Deadlines(Struct, frozen=True):
    """Past the deadline until it was noticed; from then until the tree was gone."""

    overshoot_ms: Spread
    gone_ms: Spread


def measure(commands: Sequence[tuple[str, ...]], trials: int) -> Deadlines:
    """Has each adapter miss a deadline, in turn, until there were so many trials."""
    overshoots, gone = [], []
    guard, cancel = Guard(), CancelToken()
    limits = Limits(call_seconds=DEADLINE_SECONDS, output_bytes=1 << 50)
    for _, argv in zip(range(trials), itertools.cycle(commands), strict=False):
        session = Session(guard, Command(argv, dict(os.environ), os.getcwd()), limits, cancel)
        session.initialize(contract_bundle().reference)
        started = time.perf_counter()
        with contextlib.suppress(CallTimeoutError):
            session.step(Operation(0, "A", "A", "received"))
        elapsed = time.perf_counter() - started
        overshoots.append((session.call_seconds - DEADLINE_SECONDS) * 1000)
        gone.append((elapsed - session.call_seconds) * 1000)
    guard.close()
    cancel.close()
    return Deadlines(spread(overshoots), spread(gone))


def spread(values: Sequence[float]) -> Spread:
    """The percentiles by nearest rank."""
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[math.ceil(share * len(ordered)) - 1]

    return Spread(at(0.5), at(0.99), ordered[-1])


@contextmanager
def busy_processors() -> Iterator[None]:
    """Keeps every processor busy meanwhile."""
    spinners = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()

"""What a call costs: a raw blocking pipe loop and the runner, the same adapter, one run."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct
from retryproof.app import contract_bundle
from retryproof.clock import RunClock
from retryproof.contract.bundle import Case
from retryproof.events import CallReturned, Event
from retryproof.runner.conductor import Plan
from retryproof.runner.retry_script import RetryScript
from retryproof.runner.suite import run_cases
from retryproof.supervise.guard import Command
from retryproof.supervise.launch import Sandbox, Surroundings, program
from retryproof.supervise.limits import Limits
from retryproof.supervise.sandbox import sandboxed
from retryproof_protocol.messages import Observation, Operation

CALLS_A_ROUND = 4_000
ROUNDS = 7
REQUEST = (
    b'{"jsonrpc":"2.0","id":%d,"method":"step","params":'
    b'{"at":0,"key":"A","value":"A","delivery":"received"}}\n'
)
PYTHON_ADAPTER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"status": 201, "receipt": 1, "committedWrites": 1}
    if request["method"] == "initialize":
        result = {"protocolVersion": 1, "adapter": {"name": "bench"}, "capabilities": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def compile_c_adapter(folder: Path) -> tuple[str, ...]:
    """The command of the C adapter, compiled into the folder."""
    program = folder / "adapter"
    source = Path(__file__).with_name("adapter.c")
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return (str(program),)


def python_adapter() -> tuple[str, ...]:
    """The command of the Python adapter."""
    return (sys.executable, "-I", "-S", "-c", PYTHON_ADAPTER)


def raw_loop_us(argv: tuple[str, ...]) -> float:
    """Microseconds a call of blocking writes and reads, and nothing else."""
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to_adapter, from_adapter = process.stdin.fileno(), process.stdout.fileno()
        started = time.perf_counter()
        for number in range(CALLS_A_ROUND):
            os.write(to_adapter, REQUEST % number)
            os.read(from_adapter, 65536)
        elapsed = time.perf_counter() - started
        process.stdin.close()
    return elapsed / CALLS_A_ROUND * 1e6


def runner_us(argv: tuple[str, ...], in_sandbox: bool = False) -> float:
    """Microseconds a call of the runner as it is: supervision, strict parsing, events."""
    operation = Operation(0, "A", "A", "received")
    observation = Observation(201, 1, 1)
    case = Case("bench", "", "", (operation,) * CALLS_A_ROUND, (observation,) * CALLS_A_ROUND)
    steps: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, CallReturned) and event.call.method == "step":
            steps.append(event.at)

    plan = Plan(contract_bundle().reference, command_of(argv, in_sandbox), Limits())
    anyio.run(run_cases, plan, {case.name: RetryScript(case)}, note, RunClock())
    return (steps[-1] - steps[0]) / (len(steps) - 1) * 1e6


def command_of(argv: tuple[str, ...], in_sandbox: bool) -> Command:
    """The adapter as a command, inside the sandbox or not."""
    launch = program(argv, Surroundings(os.getcwd(), {}))
    return (sandboxed(launch, Sandbox()) if in_sandbox else launch).command


class Calls(Struct, frozen=True):
    """Median microseconds a call."""

    raw_us: float
    runner_us: float
    sandboxed_us: float | None


def measure(argv: tuple[str, ...]) -> Calls:
    """Rounds that alternate, so that all ways meet the same machine.

    Each with the adapter on a processor of its own: whether the two happen to share one would
    decide more than anything that is measured here.
    """
    with apart_from(argv) as pinned:
        return _measure(pinned)


@contextmanager
def apart_from(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Keeps this process to one processor meanwhile; the adapter's command on another."""
    everywhere = os.sched_getaffinity(0)
    ours, *others = sorted(everywhere)
    if not others or shutil.which("taskset") is None:
        yield argv
        return
    os.sched_setaffinity(0, {ours})
    try:
        yield ("taskset", "-c", str(others[0]), *argv)
    finally:
        os.sched_setaffinity(0, everywhere)


def _measure(argv: tuple[str, ...]) -> Calls:
    has_sandbox = shutil.which("bwrap") is not None
    ways: list[Callable[[tuple[str, ...]], float]] = [raw_loop_us, runner_us]
    if has_sandbox:
        ways.append(partial(runner_us, in_sandbox=True))
    rounds = [[way(argv) for way in ways] for _ in range(ROUNDS)]
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    return Calls(medians[0], medians[1], medians[2] if has_sandbox else None)

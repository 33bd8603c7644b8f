"""What a run says of correct and of faulty adapters, driven as real processes."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from retryproof.contract.model import FAULTS
from retryproof.events import Event, WaitStarted
from retryproof.supervise.launch import Launch, module, with_arguments

from tests.driving import (
    BUNDLE,
    NODE_REFERENCE,
    REFERENCE,
    case_of,
    here,
    python_module,
    python_program,
    run,
    verdicts,
)
from tests.toolchains import needs_node

Host: TypeAlias = Callable[[Path | str], Launch]


def node_module(path: Path | str) -> Launch:
    return module(str(path), here())


HOSTS = [
    pytest.param(python_module, REFERENCE, id="python"),
    pytest.param(node_module, NODE_REFERENCE, id="node", marks=needs_node),
]


@pytest.mark.parametrize(("host", "reference"), HOSTS)
def test_the_reference_passes_every_case(host: Host, reference: str) -> None:
    report = run(host(reference))
    assert verdicts(report) == ["pass"] * 7
    assert (report.verdict, report.exit_status, report.diagnosis.fault) == ("pass", 0, None)
    assert report.containment == "guard"
    assert report.warnings == ()
    assert report.resources.calls == sum(len(case.steps) + 1 for case in BUNDLE.cases)
    assert report.resources.processes_spawned == 1
    assert report.resources.processes_leaked == 0


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("host", "reference"), HOSTS)
def test_each_fault_is_named_and_fails_the_right_cases(
    host: Host, reference: str, fault: str
) -> None:
    report = run(with_arguments(host(reference), ("--fault", fault)))
    failed = {case.name for case in report.cases if case.verdict == "fail"}
    assert report.verdict == "fail"
    assert report.diagnosis.fault == fault
    assert failed == set(BUNDLE.fault(fault).caught_by)
    assert all(fault in case.resembles for case in report.cases if case.verdict == "fail")


SPINNING = {
    "python": """
calls = 0
def reset(): pass
def step(operation):
    global calls
    calls += 1
    while calls == 4: pass
    return {"status": 201, "receipt": 1, "committedWrites": 1}
""",
    "node": """
let calls = 0;
export default {
  reset() {},
  step() {
    calls += 1;
    while (calls === 4);
    return { status: 201, receipt: 1, committedWrites: 1 };
  },
};
""",
}
WITH_TWENTY_CHILDREN_AND_A_DAEMON = {
    "python": """
import os, subprocess, time
for _ in range(20): subprocess.Popen(["sleep", "1000"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
os.wait()
"""
    + SPINNING["python"],
    "node": """
import { spawn } from "node:child_process";
for (let i = 0; i < 20; i += 1) spawn("sleep", ["1000"], { stdio: "inherit" });
const daemon = { detached: true, stdio: "ignore", env: {} };
spawn("/bin/sleep", ["1000"], daemon).unref();
"""
    + SPINNING["node"],
}
LANGUAGES = [
    pytest.param("python", id="python"),
    pytest.param("node", id="node", marks=needs_node),
]


def written(tmp_path: Path, language: str, source: str) -> Launch:
    path = tmp_path / {"python": "adapter.py", "node": "adapter.mjs"}[language]
    path.write_text(source)
    return python_module(path) if language == "python" else node_module(path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_busy_loop_is_cut_and_everything_before_it_reported(
    tmp_path: Path, language: str
) -> None:
    report = run(written(tmp_path, language, SPINNING[language]))
    broken = case_of(report, "body-conflict")
    assert (report.verdict, report.exit_status) == ("incomplete", 1)
    assert verdicts(report) == ["fail", "incomplete", *["not-run"] * 5]
    assert broken.failure is not None
    assert (broken.failure.kind, broken.failure.definite) == ("timeout", False)
    assert (broken.failure.call.method, broken.failure.call.step) == ("step", 1)
    assert broken.failure.elapsed_ms >= 2000
    assert broken.steps[0].actual is not None
    assert [step.actual for step in broken.steps[1:]] == [None, None]


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_escapes_the_cut(tmp_path: Path, language: str) -> None:
    source = WITH_TWENTY_CHILDREN_AND_A_DAEMON[language]
    report = run(written(tmp_path, language, source), call_seconds=0.5)
    failure = case_of(report, "body-conflict").failure
    assert failure is not None
    assert failure.kind == "timeout"
    assert "21 more processes (" in failure.message
    assert report.resources.processes_leaked == 21


def test_keep_going_takes_a_fresh_process_for_each_case(tmp_path: Path) -> None:
    spins_at_the_second_step = SPINNING["python"].replace("calls == 4", "calls == 2")
    report = run(
        written(tmp_path, "python", spins_at_the_second_step), call_seconds=0.2, keep_going=True
    )
    assert verdicts(report) == ["incomplete"] * 7
    assert [case.failure.call.step for case in report.cases if case.failure] == [1] * 7
    assert report.resources.processes_spawned == 7


def test_cases_after_a_broken_one_are_right_with_keep_going(tmp_path: Path) -> None:
    path = tmp_path / "adapter.py"
    path.write_text(
        f"import sys; sys.argv = sys.argv[:1]\n{Path(REFERENCE).read_text()}\n"
        "right_step = step\n"
        "def step(operation):\n"
        "    if operation['value'] == 'B' and operation['at'] == 1: raise SystemExit(3)\n"
        "    return right_step(operation)\n"
    )
    report = run(python_module(path), keep_going=True)
    assert verdicts(report) == ["pass", "incomplete", *["pass"] * 5]
    failure = case_of(report, "body-conflict").failure
    assert failure is not None
    assert failure.kind == "crash"
    assert failure.message.startswith("The adapter exited with status 3 while `step` was pending.")


def test_only_the_chosen_cases_are_planned() -> None:
    report = run(python_module(REFERENCE), cases=("lost-replay", "lost-create"))
    assert [case.name for case in report.cases] == ["lost-create", "lost-replay"]


def test_real_time_is_waited_for_outside_every_call() -> None:
    seconds_per_tick = 0.05
    paced = python_program(PACED, str(seconds_per_tick))
    events: list[Event] = []
    report = run(paced, cases=("fixed-expiry",), call_seconds=0.2, sinks=[events.append])
    assert report.verdict == "pass"
    assert report.adapter.seconds_per_tick == seconds_per_tick
    assert any(isinstance(event, WaitStarted) for event in events)
    assert report.elapsed_ms >= 6 * seconds_per_tick * 1000


PACED = """
import json, sys, time
seconds_per_tick = float(sys.argv[1])
record = None
writes = 0
def step(p):
    global record, writes
    now = time.monotonic()
    if record is None or now >= record[1]:
        writes += 1
        record = (writes, now + 6 * seconds_per_tick)
        return {"status": 201, "receipt": writes, "committedWrites": writes}
    return {"status": 200, "receipt": record[0], "committedWrites": writes}
for line in sys.stdin:
    request = json.loads(line)
    result = None
    if request["method"] == "initialize":
        clock = {"clock": {"secondsPerTick": seconds_per_tick}}
        result = {"protocolVersion": 1, "adapter": {"name": "paced"}, "capabilities": clock}
    if request["method"] == "step":
        result = step(request["params"])
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@needs_node
def test_an_adapter_of_the_original_kit_runs_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "my-adapter.mjs"
    path.write_text(ORIGINAL_KIT)
    report = run(node_module(path))
    assert verdicts(report) == ["pass"] * 7


ORIGINAL_KIT = """
import { setTimeout as sleep } from "node:timers/promises";
import { spawnSync } from "node:child_process";
let records, writes;
export async function reset({ signal }) {
  console.log("reset", signal.aborted);
  spawnSync("echo", ["a child that prints"], { stdio: "inherit" });
  records = new Map();
  writes = 0;
}
export async function step(operation, { signal }) {
  process.stdout.write("no newline");
  await sleep(1, undefined, { signal });
  const { at, key, value, delivery } = operation;
  let record = records.get(key);
  let status = 200;
  if (!record || at >= record.deadline) {
    writes += 1;
    status = 201;
    record = { value, receipt: writes, deadline: at + 6 };
    records.set(key, record);
  } else if (record.value !== value) {
    status = 409;
  }
  const hidden = delivery === "lost";
  const receipt = hidden || status === 409 ? null : record.receipt;
  return { status: hidden ? null : status, receipt, committedWrites: writes };
}
"""


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("adapter.cjs", "module.exports = { reset, step };"),
        ("adapter.js", "module.exports = { reset, step };"),
        ("adapter.mjs", "export { reset, step };"),
        ("adapter.mjs", "export default { reset, step };"),
    ],
    ids=["cjs", "js", "named", "default"],
)
@needs_node
def test_every_way_to_export_the_two_functions(tmp_path: Path, name: str, source: str) -> None:
    path = tmp_path / name
    functions = """
function reset() {}
function step() { return { status: 201, receipt: 1, committedWrites: 1 }; }
"""
    path.write_text(functions + source)
    report = run(node_module(path), cases=("matching-replay",))
    assert verdicts(report) == ["fail"]
    assert report.adapter.name == "adapter"


def test_async_python_functions_share_one_event_loop(tmp_path: Path) -> None:
    path = tmp_path / "adapter.py"
    path.write_text(
        """
import asyncio
lock = None
async def reset(*, signal):
    global lock
    assert 0 < signal.remaining_seconds < 2 and not signal.aborted
    lock = lock or asyncio.Lock()
    await lock.acquire()
    asyncio.get_running_loop().call_later(0.01, lock.release)
async def step(operation, *, signal):
    async with lock:
        return {"status": 201, "receipt": 1, "committedWrites": 1}
"""
    )
    report = run(python_module(path), cases=("matching-replay",))
    assert verdicts(report) == ["fail"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def reset(): pass", "has no function step"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def reset(: pass", "invalid syntax"),
        ("raise SystemExit('no')", "The adapter exited with status 1 while `initialize`"),
    ],
    ids=["missing-function", "missing-import", "syntax-error", "exits"],
)
def test_a_python_module_that_cannot_be_loaded_says_why(
    tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "adapter.py"
    path.write_text(source)
    report = run(python_module(path))
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.call.method == "initialize"
    assert message in failure.message
    assert verdicts(report) == ["incomplete", *["not-run"] * 6]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("export function reset() {}", "exports no function step"),
        ('import "no-such-module";', "Cannot find package"),
        ("export function reset( {", "SyntaxError"),
        ("export function reset() {}; export function step() { return 1n; }", "BigInt"),
        ("export function reset() {}; export function step() {}", "is null, not an object"),
    ],
    ids=["missing-function", "missing-import", "syntax-error", "not-json", "undefined"],
)
@needs_node
def test_a_node_module_that_cannot_answer_says_why(
    tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "adapter.mjs"
    path.write_text(source)
    report = run(node_module(path))
    failure = report.cases[0].failure
    assert failure is not None
    assert message in failure.message

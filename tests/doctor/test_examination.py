"""What the doctor finds in adapters that the zoo does not have, and in those that are well."""

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
from retryproof.app import examine
from retryproof.doctor.findings import PROBE
from retryproof.reports.doctor import TITLES
from retryproof.supervise.interruption import Work, run_to_the_end
from retryproof.supervise.launch import Launch, Surroundings, module, program
from retryproof.supervise.limits import Limits

from tests.doctor.examining import check_of, examined, failing, faulty
from tests.driving import BUNDLE, NODE_REFERENCE, REFERENCE, here, python_module, python_program
from tests.toolchains import needs, needs_node

C_KIT = Path(__file__).parent.parent.parent / "adapters/c"
SHORT = Limits(startup_seconds=10.0, call_seconds=0.5)

ANSWERING = """
import json, os, sys, time
writes = 0
def answer(request, **result):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
def serve(request):
    global writes
    method = request["method"]
    if method == "initialize":
        answer(request, protocolVersion=1, adapter={"name": "test"}, capabilities={})
    elif method == "step":
        writes += 1
        answer(request, status=201, receipt=FIRST + writes, committedWrites=writes)
    else:
        writes = 0
        answer(request)
"""
WELL = ANSWERING + "for line in sys.stdin:\n    serve(json.loads(line))\n"
"""Like any other here, it goes on reading after `shutdown`, until its input ends."""


def adapter(source: str, *arguments: str, first: str = "0") -> Launch:
    return python_program(source.replace("FIRST", first), *arguments)


def leaving(source: str) -> str:
    """The same, but it leaves after `shutdown`."""
    return source + "    if 'shutdown' in line: break\n"


def test_the_python_reference_is_well() -> None:
    assert_well(python_module(REFERENCE))


@needs_node
def test_the_node_reference_is_well() -> None:
    assert_well(module(NODE_REFERENCE, here()))


@needs("cc")
def test_the_c_reference_is_well(tmp_path: Path) -> None:
    for name in ("reference.c", "retryproof.h"):
        shutil.copy(C_KIT / name, tmp_path)
    subprocess.run(["cc", "-std=c11", "-o", "reference", "reference.c"], cwd=tmp_path, check=True)
    assert_well(program(("./reference",), Surroundings(str(tmp_path), {})))


@pytest.mark.parametrize("fault", ["duplicate-write", "body-blind", "sliding-expiry"])
def test_a_fault_of_the_service_is_no_trouble_of_the_adapter(fault: str) -> None:
    assert_well(program((sys.executable, REFERENCE, "--fault", fault), here()))


def assert_well(launch: Launch) -> None:
    report = examined(launch)
    assert failing(report) == []
    assert report.verdict == "pass"
    assert report.exit_status == 0
    assert report.adapter.identity is not None
    assert report.timing.startup_ms is not None
    assert report.timing.slowest_call_ms is not None


def test_an_unknown_program_is_named_with_its_folder_and_the_time() -> None:
    report = examined(program(("no-such-program", "--now"), here()))
    assert failing(report) == ["starts"]
    seen = check_of(report, "starts").seen
    assert seen.startswith("The program no-such-program was not found (in ")
    assert "The command was no-such-program --now, in " in seen
    assert report.counts.not_checked == len(TITLES) - 1


def test_a_program_that_prints_why_it_dies_did_not_start() -> None:
    report = examined(python_program("print('no such port'); raise SystemExit(3)"))
    assert failing(report) == ["starts"]
    seen = check_of(report, "starts").seen
    assert seen.startswith("The adapter exited with status 3 while `initialize` was pending.")
    assert seen.endswith('Before it ended, it printed "no such port" to stdout.')


def test_a_program_that_dies_in_the_midst_of_printing_did_not_start() -> None:
    report = examined(python_program("print('no such port', end=''); raise SystemExit(3)"))
    assert failing(report) == ["starts"]
    assert "exited with status 3" in check_of(report, "starts").seen


def test_a_step_that_prints_why_it_dies_is_the_trouble() -> None:
    dying = WELL.replace("writes += 1", "print('no table'); raise SystemExit(1)")
    report = examined(adapter(dying))
    assert failing(report) == ["step", "leaves"]
    assert 'it printed "no table" to stdout' in check_of(report, "step").seen


def test_the_end_of_stderr_is_told() -> None:
    report = examined(python_program("raise ValueError('no database')"))
    assert "ValueError: no database" in check_of(report, "starts").seen
    assert "ValueError: no database" in report.stderr_tail


def test_a_module_that_is_not_connected_says_so(tmp_path: Path) -> None:
    path = tmp_path / "adapter.py"
    path.write_text("def reset(): raise RuntimeError('not connected yet')\ndef step(o): pass\n")
    report = examined(python_module(path))
    assert failing(report) == ["reset"]
    assert "RuntimeError: not connected yet" in check_of(report, "reset").seen
    assert check_of(report, "leaves").verdict == "pass"


def test_a_module_that_can_not_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "adapter.py"
    path.write_text("def reset(:\n")
    report = examined(python_module(path))
    assert failing(report) == ["initialize"]
    assert "SyntaxError" in check_of(report, "initialize").seen


def test_structured_logs_on_stdout_are_no_answers() -> None:
    report = examined(faulty('step2=raw:{"level": 30, "msg": "order created"}'))
    assert failing(report) == ["stdout"]


def test_an_unasked_line_after_a_while_is_heard() -> None:
    chatty = leaving(WELL).replace(
        "for line",
        "import threading\n"
        "tick = threading.Timer(0.02, lambda: print('tick', flush=True))\n"
        "tick.start()\n"
        "for line",
    )
    report = examined(adapter(chatty))
    assert failing(report) == ["stdout"]


@pytest.mark.parametrize("word", ["bye", ""])
def test_a_line_at_the_end_of_input_is_one_too_many(word: str) -> None:
    report = examined(adapter(leaving(WELL) + f"print({word!r})\n"))
    assert failing(report) == ["stdout"]


def test_answers_that_wait_in_a_buffer_from_the_start_are_found_early() -> None:
    started = time.monotonic()
    unflushed = leaving(WELL).replace(", flush=True", "")
    report = examined(adapter(unflushed), Limits(startup_seconds=60.0, call_seconds=0.5))
    assert failing(report) == ["flush"]
    assert time.monotonic() - started < 30


def test_an_adapter_that_reads_all_its_input_first_is_told_to_read_lines() -> None:
    greedy = ANSWERING + "for line in sys.stdin.read().splitlines(): serve(json.loads(line))\n"
    report = examined(adapter(greedy), SHORT)
    assert failing(report) == ["flush"]
    assert "read line by line" in (check_of(report, "flush").mend or "")


def test_a_slow_start_is_no_trouble_but_measured() -> None:
    slow = f"import time; time.sleep(1)\n{leaving(WELL)}"
    report = examined(adapter(slow), SHORT)
    assert failing(report) == []
    assert report.timing.startup_ms is not None
    assert report.timing.startup_ms >= 1000


def test_a_start_that_leaves_little_room_is_told() -> None:
    slow = f"import time; time.sleep(1.2)\n{leaving(WELL)}"
    report = examined(adapter(slow), Limits(startup_seconds=2.2, call_seconds=2.0))
    assert failing(report) == []
    assert "--startup-timeout" in (check_of(report, "time").mend or "")


def test_an_adapter_that_gives_up_at_the_end_of_input_gets_its_whole_time() -> None:
    """It is silent for a while, and leaves without an answer when its input is closed."""
    source = leaving(WELL).replace(
        "for line in sys.stdin:",
        "import select\n"
        "time.sleep(0.8)\n"
        "first = sys.stdin.readline()\n"
        "if select.select([0], [], [], 0)[0]: sys.exit()\n"
        "serve(json.loads(first))\n"
        "for line in sys.stdin:",
    )
    assert failing(examined(adapter(source), SHORT)) == []


def test_an_adapter_that_never_answers_but_leaves_is_silent() -> None:
    deaf = "import sys; sys.stdin.read()"
    report = examined(python_program(deaf), Limits(startup_seconds=1.0, call_seconds=0.3))
    assert failing(report) == ["initialize"]
    assert "did not answer `initialize` within 1 s" in check_of(report, "initialize").seen


def test_an_adapter_that_ignores_shutdown_is_told_from_one_that_ignores_all() -> None:
    report = examined(adapter(WELL))
    assert failing(report) == ["leaves"]
    assert "and left only once its input was closed" in check_of(report, "leaves").seen


def test_an_adapter_that_leaves_without_answering_shutdown_has_left() -> None:
    source = ANSWERING + (
        "for line in sys.stdin:\n    if 'shutdown' in line: break\n    serve(json.loads(line))\n"
    )
    assert failing(examined(adapter(source))) == []


def test_an_adapter_that_is_gone_before_it_is_told_to_leave_did_not_leave_well() -> None:
    short_lived = ANSWERING + (
        f"for _ in range({1 + 2 * (1 + len(PROBE))}):\n"
        "    line = sys.stdin.readline()\n"
        "    if line: serve(json.loads(line))\n"
    )
    report = examined(adapter(short_lived))
    assert failing(report) == ["step"]


def test_a_state_that_outlives_the_process_is_found(tmp_path: Path) -> None:
    counted = tmp_path / "processes"
    by_process = leaving(WELL).replace(
        "for line",
        "with open(sys.argv[1], 'a+') as file:\n"
        "    first = file.seek(0, 2)\n"
        "    file.write('x')\n"
        "def now(): return first\n"
        "for line",
    )
    report = examined(adapter(by_process, str(counted), first="now()"))
    assert failing(report) == ["clean-start"]
    check = check_of(report, "clean-start")
    assert "in a fresh process" in check.seen
    assert "Give receipts as ordinals" in (check.mend or "")


def test_a_slow_call_is_measured_and_the_examination_goes_on() -> None:
    report = examined(faulty("step3=answer-late:0.8"), SHORT)
    assert failing(report) == ["time"]
    assert report.counts.not_checked == 0
    assert report.timing.slowest_call_ms is not None
    assert report.timing.slowest_call_ms >= 800


def test_a_call_that_leaves_little_room_is_told() -> None:
    report = examined(faulty("step3=answer-late:1.2"))
    assert failing(report) == []
    check = check_of(report, "time")
    assert check.verdict == "pass"
    assert "see what it waits for" in (check.mend or "")


def test_the_first_of_two_troubles_is_named_and_the_other_too() -> None:
    report = examined(faulty("step2=hang", "end=hang"), Limits(10.0, 0.3))
    assert failing(report) == ["step", "leaves"]


def test_an_adapter_in_real_time_is_not_waited_for() -> None:
    clocked = leaving(WELL).replace(
        "capabilities={}", "capabilities={'clock': {'secondsPerTick': 600}}"
    )
    started = time.monotonic()
    assert failing(examined(adapter(clocked))) == []
    assert time.monotonic() - started < 30


def test_what_is_waited_for_is_told() -> None:
    told: list[str] = []
    examine(BUNDLE, python_module(REFERENCE), Limits(), tell=told.append)
    assert told[:4] == [
        "the start",
        "the answer to `initialize`",
        "the answer to `reset`",
        f"the answer to step 1 of {len(PROBE)}",
    ]
    assert "its end, after the end of input" in told


def test_an_examination_that_is_cut_short_tells_what_it_saw() -> None:
    hanging = threading.Event()

    def tell(what: str) -> None:
        if what.startswith("the answer to step 2"):
            hanging.set()

    async def until(work: Work) -> str | None:
        async with anyio.create_task_group() as group:
            group.start_soon(run_to_the_end, work)
            await anyio.to_thread.run_sync(hanging.wait)
            group.cancel_scope.cancel()
        return "SIGINT"

    report = examine(BUNDLE, faulty("step2=hang"), Limits(), until, tell)
    assert report.interrupted_by == "SIGINT"
    assert report.exit_status == 130
    assert report.verdict == "incomplete"
    assert report.counts.failed == 0
    assert check_of(report, "reset").verdict == "pass"
    unmade = [check for check in report.checks if check.verdict == "not-checked"]
    assert [check.id for check in unmade] == ["step", "clean-start", "leaves", "processes", "time"]
    assert {check.because for check in unmade} == {None}

"""`retryproof doctor` as its users meet it."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.cli.command import (
    RETRYPROOF,
    reap_inherited,
    retryproof,
    retryproof_json,
    wait_for,
    wait_until_dead,
)
from tests.driving import REFERENCE

CORRECT = ("--python", sys.executable, REFERENCE)
FAULTY = str(Path(__file__).parent.parent.parent / "fixtures/faulty/adapter.py")


def test_a_module_that_is_well_ends_with_status_0_and_the_next_command() -> None:
    finished = retryproof("doctor", *CORRECT)
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert finished.stdout.startswith("pass: this adapter is well; all 11 checks hold\nEvidence: ")
    assert finished.stdout.count("\n  pass ") == 11
    assert finished.stdout.endswith(f"Next: retryproof run --python {sys.executable} {REFERENCE}\n")


def test_a_program_that_is_ill_ends_with_status_1_and_what_to_mend() -> None:
    finished = retryproof("doctor", "--", sys.executable, FAULTY, "step2=id-as-string")
    assert finished.returncode == 1
    lines = finished.stdout.splitlines()
    assert lines[0] == "FAIL: 1 of 11 checks failed, 4 could not be made"
    (number,) = [index for index, line in enumerate(lines) if line.startswith("  FAIL ")]
    assert lines[number].startswith("  FAIL         ids          At step 2 of 5: The line ")
    assert lines[number + 1].strip() == "Mend: Echo the id as it came: a number, not a string."


def test_as_json() -> None:
    report = retryproof_json("doctor", "--", sys.executable, FAULTY, "step2=banner")
    assert report["schema"] == "retryproof.doctor/1"
    assert report["evidence"] == "protocol"
    assert report["verdict"] == "fail"
    assert report["exitStatus"] == 1
    assert report["counts"] == {"planned": 11, "passed": 6, "failed": 1, "notChecked": 4}
    assert report["limits"] == {"startupSeconds": 30.0, "callSeconds": 2.0, "leaveSeconds": 1.0}
    checks = {check["id"]: check for check in report["checks"]}
    assert checks["stdout"]["verdict"] == "fail"
    assert checks["step"] == {
        "id": "step",
        "title": "it answers `step` in form",
        "verdict": "not-checked",
        "seen": "This can't be seen while `stdout` fails.",
        "mend": None,
        "because": "stdout",
    }


def test_the_limits_are_those_of_the_options() -> None:
    late = (sys.executable, FAULTY, "step3=answer-late:1")
    assert retryproof("doctor", "--", *late).returncode == 0
    finished = retryproof("doctor", "--call-timeout", "0.7", "--", *late)
    assert finished.returncode == 1
    assert "  FAIL         time         A call of `step` took 1." in finished.stdout
    assert "a run would have killed the adapter after 0.7 s." in finished.stdout


def test_the_adapter_gets_the_folder_and_the_variables(tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(
        "import os\n"
        "def reset(): raise RuntimeError(os.getcwd() + ' ' + os.environ['MINE'])\n"
        "def step(operation): pass\n"
    )
    finished = retryproof(
        *("doctor", "--cwd", str(tmp_path), "--env", "MINE=4711"),
        *("--python", sys.executable, str(tmp_path / "adapter.py")),
    )
    assert f"RuntimeError: {tmp_path} 4711" in finished.stdout


def test_the_wire_is_shown_on_demand() -> None:
    finished = retryproof("doctor", "-v", *CORRECT)
    assert finished.returncode == 0
    assert '-> {"jsonrpc":"2.0","id":1,"method":"initialize"' in finished.stderr
    assert finished.stderr.count('"method":"shutdown"') == 1


def test_invalid_arguments_end_with_status_2() -> None:
    for arguments in ((), ("no-such-file.py",), ("--call-timeout", "0", "--", "true")):
        finished = retryproof("doctor", *arguments)
        assert finished.returncode == 2, arguments
        assert finished.stdout == ""


def test_an_interruption_tells_what_was_seen_and_leaves_nothing() -> None:
    process = subprocess.Popen(
        [*RETRYPROOF, "doctor", "-v", "--", sys.executable, FAULTY, "step2=hang-with-children:1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watched = psutil.Process(process.pid)
    wait_for(lambda: any("sleep" in each.name() for each in _family(watched)), "the hang")
    family = [each.pid for each in _family(watched)]
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stdout.startswith("INCOMPLETE: 0 of 11 checks failed, 5 could not be made\n")
    assert "Interrupted by SIGINT.\n" in stdout
    assert "  not checked  step         The examination was cut short.\n" in stdout
    wait_until_dead(family)
    reap_inherited()


def _family(process: psutil.Process) -> list[psutil.Process]:
    return process.children(recursive=True)

"""`retryproof run` as its users meet it."""

import json
import os
import pty
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

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
STEP = """
def step(operation): return {"status": 201, "receipt": 1, "committedWrites": 1}
"""


WriteModule: TypeAlias = Callable[[str], tuple[str, ...]]
MidCall: TypeAlias = tuple[subprocess.Popen[str], list[int]]


@pytest.fixture
def module(tmp_path: Path) -> WriteModule:
    def write(source: str) -> tuple[str, ...]:
        path = tmp_path / "adapter.py"
        path.write_text(source)
        return ("--python", sys.executable, str(path))

    return write


def test_a_correct_adapter_passes_with_status_0() -> None:
    finished = retryproof("run", *CORRECT)
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert finished.stdout.startswith(
        "pass: 7 cases planned: 7 passed, 0 failed, 0 incomplete, 0 not run\nEvidence: adapter: "
    )
    assert finished.stdout.count("\n  pass ") == 7


def test_a_faulty_program_fails_with_status_1_and_says_what_it_resembles() -> None:
    finished = retryproof("run", "--", sys.executable, REFERENCE, "--fault", "body-blind")
    assert finished.returncode == 1
    assert finished.stdout.startswith("FAIL: 7 cases planned: 5 passed, 2 failed")
    assert "\nDiagnosis: body-blind. A changed request under a used key was answered" in (
        finished.stdout
    )


def test_the_repeating_command_repeats_just_that_case() -> None:
    argv = (
        "run",
        "--call-timeout",
        "1.5",
        "--",
        sys.executable,
        REFERENCE,
        "--fault",
        "body-blind",
    )
    finished = retryproof(*argv)
    prefix = "  Repeat it: retryproof run "
    (first, _) = [line for line in finished.stdout.splitlines() if line.startswith(prefix)]
    again = retryproof("run", *first.removeprefix(prefix).split())
    assert again.returncode == 1
    assert again.stdout.startswith("FAIL: 1 case planned: 0 passed, 1 failed")
    assert "callTimeoutSeconds is 1.5" in again.stdout


def test_json_is_the_only_thing_on_stdout(module: WriteModule) -> None:
    adapter = module(
        "import os\nos.system('echo from a child')\ndef reset(): print('reset')\n" + STEP
    )
    report = retryproof_json("run", *adapter)
    assert report["schema"] == "retryproof.report/1"
    assert report["stderrTail"].startswith("from a child\nreset\n")


def test_the_report_file_equals_the_json_output_and_keeps_other_files(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    finished = retryproof("run", "--json", "--report", f"json={path}", *CORRECT)
    assert path.read_text() == finished.stdout
    assert os.listdir(tmp_path) == ["report.json"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run",), "Missing argument"),
        (("run", "no-such-file.py"), "There is no file no-such-file.py."),
        (("run", "--case", "nonsense", *CORRECT), "The contract has no case nonsense."),
        (("run", "--call-timeout", "0", *CORRECT), "--call-timeout"),
        (("run", "--call-timeout", "nan", *CORRECT), "--call-timeout"),
        (("run", "--report", "json", *CORRECT), "is not FORMAT=PATH"),
        (("run", "--report", "xml=x", *CORRECT), "is not FORMAT=PATH"),
        (("run", "--report", "json=/no/folder/x", *CORRECT), "does not exist"),
        (("run", "--env", "NOVALUE", *CORRECT), "write NAME=VALUE"),
        (("run", "--pass-env", "NO_SUCH_VARIABLE", *CORRECT), "there is no such variable"),
        (("run", "--python", "/no/python", REFERENCE), "/no/python, needed for --python"),
        (("run", "--python", sys.executable, "--", "true"), "--python is for"),
        (("run", "--cwd", "/no/folder", *CORRECT), "--cwd"),
        (("run", "pyproject.toml"), "has none of the endings of adapter modules"),
        (("nonsense",), "No such command"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_invalid_arguments_end_with_status_2_and_a_word_on_stderr(
    arguments: tuple[str, ...], complaint: str
) -> None:
    finished = retryproof(*arguments)
    assert finished.returncode == 2
    assert complaint in finished.stderr
    assert finished.stdout == ""


def test_a_launch_failure_is_a_failed_check_not_a_usage_error() -> None:
    report = retryproof_json("run", "--", "no-such-program")
    assert (report["exitStatus"], report["verdict"]) == (1, "incomplete")
    failure = report["cases"][0]["failure"]
    assert (failure["kind"], failure["definite"]) == ("launch", True)
    assert report["counts"] == {
        "planned": 7,
        "passed": 0,
        "failed": 0,
        "incomplete": 1,
        "notRun": 6,
    }


SHOWS_ENVIRONMENT = (
    "import os, sys\nprint(sorted(os.environ), file=sys.stderr)\ndef reset(): pass\n"
)


def test_secrets_do_not_leak_into_the_adapter_unless_they_are_passed(module: WriteModule) -> None:
    adapter = module(SHOWS_ENVIRONMENT + STEP)
    env = {"DEPLOY_TOKEN": "s3cret", "LC_TIME": "C"}
    hidden = json.loads(retryproof("run", "--json", *adapter, env=env).stdout)
    assert "DEPLOY_TOKEN" not in hidden["stderrTail"]
    assert "LC_TIME" in hidden["stderrTail"]
    passed = retryproof(
        "run",
        "--json",
        "--pass-env",
        "DEPLOY_TOKEN",
        "--env",
        "MODE=hidden-value",
        *adapter,
        env=env,
    ).stdout
    assert "DEPLOY_TOKEN" in json.loads(passed)["stderrTail"]
    assert json.loads(passed)["adapter"]["addedEnvironment"] == ["DEPLOY_TOKEN", "MODE"]
    assert "s3cret" not in passed
    assert "hidden-value" not in passed


def test_the_adapter_runs_in_the_named_folder(module: WriteModule, tmp_path: Path) -> None:
    adapter = module(
        "import os, sys\nprint(os.getcwd(), file=sys.stderr)\ndef reset(): pass\n" + STEP
    )
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    report = retryproof_json("run", "--cwd", str(folder), *adapter)
    assert report["stderrTail"].strip() == str(folder)


def test_a_python_module_finds_its_neighbours(module: WriteModule, tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text("print('imported')\n")
    report = retryproof_json("run", *module("import service\ndef reset(): pass\n" + STEP))
    assert report["stderrTail"].strip() == "imported"


def test_a_python_module_runs_in_the_users_own_environment(
    module: WriteModule, tmp_path: Path
) -> None:
    venv.create(tmp_path / "environment", with_pip=False, symlinks=True)
    prefix = "import sys\nprint(sys.prefix, file=sys.stderr)\ndef reset(): pass\n"
    adapter = module(prefix + STEP)[-1]
    active = retryproof(
        "run", "--json", adapter, env={"VIRTUAL_ENV": str(tmp_path / "environment")}
    )
    assert json.loads(active.stdout)["stderrTail"].strip() == str(tmp_path / "environment")
    asked = retryproof(
        "run", "--json", "--python", str(tmp_path / "environment/bin/python"), adapter
    )
    assert json.loads(asked.stdout)["stderrTail"].strip() == str(tmp_path / "environment")


def test_the_wire_transcript_goes_to_stderr() -> None:
    finished = retryproof("run", "-v", "--case", "matching-replay", *CORRECT)
    lines = finished.stderr.splitlines()
    assert [line.split()[1] for line in lines[:4]] == ["->", "<-", "->", "<-"]
    assert '"method":"initialize"' in lines[0]
    assert '"method":"shutdown"' in lines[-1]


def test_control_characters_never_reach_the_terminal_raw(module: WriteModule) -> None:
    adapter = module("def reset(): raise ValueError('\\x1b[31mred\\x07\\u202e')\n" + STEP)
    for arguments in ((), ("-v",), ("--json",)):
        finished = retryproof("run", *arguments, *adapter)
        output = finished.stdout + finished.stderr
        assert "\\x1b[31mred" in output.replace("\\\\", "\\").replace("\\u001b", "\\x1b")
        assert not {"\x1b", "\x07", "\u202e"} & set(output)


WAITS_WITH_CHILDREN = """
import os, subprocess, sys, time
children = [subprocess.Popen(["sleep", "1000"], start_new_session=True) for _ in range(3)]
def reset(): pass
def step(operation):
    if operation["value"] == "B":
        pids = [os.getpid(), *(child.pid for child in children)]
        with open("pids.tmp", "w") as file: file.write(" ".join(map(str, pids)))
        os.rename("pids.tmp", "pids")
        time.sleep(1000)
    return {"status": 201, "receipt": 1, "committedWrites": 1}
"""


@pytest.fixture
def run_in_mid_call(module: WriteModule, tmp_path: Path) -> Iterator[MidCall]:
    """A running command whose adapter hangs in a call, and the adapter's processes."""
    adapter = module(WAITS_WITH_CHILDREN)
    process = subprocess.Popen(
        [*RETRYPROOF, "run", "--json", "--call-timeout", "600", *adapter],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for((tmp_path / "pids").exists, "the hanging call")
    yield process, [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_an_interruption_kills_the_tree_and_reports_what_was_observed(
    run_in_mid_call: MidCall, number: signal.Signals, status: int
) -> None:
    process, adapter_pids = run_in_mid_call
    process.send_signal(number)
    stdout, stderr = process.communicate()
    report = json.loads(stdout)
    assert process.returncode == report["exitStatus"] == status
    assert report["interruptedBy"] == number.name
    assert [case["verdict"] for case in report["cases"]] == ["fail", "incomplete", *["not-run"] * 5]
    assert report["cases"][1]["failure"]["kind"] == "interrupted"
    assert stderr == ""
    wait_until_dead(adapter_pids)


def test_a_killed_harness_leaves_no_process_of_the_adapter(run_in_mid_call: MidCall) -> None:
    process, adapter_pids = run_in_mid_call
    process.kill()
    process.communicate()
    wait_until_dead(adapter_pids)
    reap_inherited()


def test_a_terminal_shows_the_case_the_step_and_the_time_of_the_pending_call(
    module: WriteModule,
) -> None:
    adapter = module("import time\ndef reset(): pass\ndef step(operation):\n    time.sleep(60)\n")
    status, shown = on_a_terminal({"COLUMNS": "120"}, "run", "--call-timeout", "0.6", *adapter)
    assert status == 1
    assert "case 1 of 7, matching-replay: step 1 (0.3 s)" in shown
    assert "\x1b[" in shown
    assert "timeout" in shown


def test_no_color_is_honoured_on_a_terminal() -> None:
    status, shown = on_a_terminal({"NO_COLOR": "1"}, "run", "--case", "matching-replay", *CORRECT)
    assert status == 0
    assert "\x1b[3" not in shown


def on_a_terminal(env: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """The status of a command whose streams are a terminal, and what that terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*RETRYPROOF, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **env},
    )
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    return process.wait(), shown


def read_all(descriptor: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:
            # How Linux says that the other side of a terminal has been closed.
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode()


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = " ".join([*RETRYPROOF, "run", *CORRECT])
    finished = subprocess.run(
        ["sh", "-c", f"{command} | true"], check=True, capture_output=True, text=True
    )
    assert finished.stderr == ""


def test_a_bug_ends_with_status_70_and_no_bare_traceback(tmp_path: Path) -> None:
    broken = (
        "import retryproof.app, retryproof.cli.main as main\n"
        "retryproof.app.contract_bundle = None\n"
        "main.run_command_line()\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", broken, "run", *CORRECT],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert finished.returncode == 70
    assert finished.stderr.startswith("retryproof: This is a bug in retryproof")
    assert "Traceback" not in finished.stderr
    (saved,) = tmp_path.glob("retryproof-*.traceback")
    assert str(saved) in finished.stderr
    assert "Traceback" in saved.read_text()


def test_the_self_test_passes_under_every_installed_host() -> None:
    report = json.loads(retryproof("self-test", "--json").stdout)
    assert (report["verdict"], report["evidence"], report["exitStatus"]) == ("pass", "self-test", 0)
    assert {trial["host"] for trial in report["trials"]} >= {"python"}
    assert len(report["trials"]) % 5 == 0
    assert retryproof("self-test").stdout.startswith("pass: this installation works\n")


def test_the_self_test_says_what_it_skipped(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    report = json.loads(retryproof("self-test", "--json", env={"PATH": str(tmp_path)}).stdout)
    assert report["verdict"] == "pass"
    assert report["skipped"][0].startswith("node: node, needed for")


def test_every_command_has_help_with_an_example() -> None:
    for command in ("self-test", "fixtures", "run", "check", "reduce", "compare", "example"):
        finished = retryproof(command, "--help")
        assert finished.returncode == 0
        assert "Example" in finished.stdout


def test_the_same_file_twice_gives_the_same_report_times_aside(tmp_path: Path) -> None:
    def told() -> dict[str, object]:
        report = retryproof_json("run", *CORRECT)
        for name in ("startedAt", "elapsedMs", "resources"):
            del report[name]
        for case in report["cases"]:
            for step in case["steps"]:
                del step["elapsedMs"]
        return report

    assert told() == told()

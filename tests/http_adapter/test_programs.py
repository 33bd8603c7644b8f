"""The programs that a SERVICE.toml names: the service itself, commands, and how they go wrong."""

import json
import sys
import time
from pathlib import Path

import psutil
import pytest
from retryproof.reports.report import Report

from tests.cli.command import retryproof
from tests.driving import verdicts
from tests.http_adapter.running import (
    PYTHON_ORDERS,
    WHOLE_FILE,
    free_port,
    message_of,
    misbehaving,
    run_service,
    running,
)
from tests.toolchains import needs

PREFIX = "[start] command: "


def with_start(port: int, *argv: str, more: str = "") -> str:
    return f"{WHOLE_FILE.format(port=port)}\n[start]\ncommand = {json.dumps(argv)}\n{more}\n"


def python(source: str) -> tuple[str, ...]:
    return (sys.executable, "-c", source)


def start_message(report: Report) -> str:
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.call.method == "initialize"
    return message_of(report)


def test_a_service_that_is_no_program(tmp_path: Path) -> None:
    report = run_service(tmp_path, with_start(free_port(), "no-such-program", "--port", "1"))
    assert start_message(report) == (
        f"{PREFIX}no-such-program --port 1 can't be started: No such file or directory."
    )
    assert verdicts(report) == ["incomplete", *["not-run"] * 6]


def test_a_service_that_ends_before_it_answers_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text("raise SystemExit('no database at hand')")
    argv = ("python3", "service.py")
    report = run_service(tmp_path, with_start(free_port(), *argv))
    assert start_message(report) == (
        f'{PREFIX}python3 service.py ([start]) exited with status 1. It ended with "no database '
        'at hand". The command has to stay for as long as the service does.'
    )
    assert "no database at hand\n" in report.stderr_tail


def test_a_service_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text("import time\ntime.sleep(60)")
    port = free_port()
    file = with_start(port, "python3", "service.py", more="within_seconds = 0.5")
    started = time.monotonic()
    report = run_service(tmp_path, file)
    assert time.monotonic() - started < 10
    assert start_message(report) == (
        f"{PREFIX}python3 service.py runs, but there is no answer at http://127.0.0.1:{port} "
        "within 0.5 s: Connection refused. If it only starts slowly, raise within_seconds and "
        "--startup-timeout."
    )


def test_a_service_that_is_there_already_is_not_mistaken_for_the_started_one(
    tmp_path: Path,
) -> None:
    with misbehaving({}) as port:
        report = run_service(tmp_path, with_start(port, "python3", "service.py"))
    assert start_message(report) == (
        f"{PREFIX}something answers at http://127.0.0.1:{port} before python3 service.py was "
        "started: end that, or leave [start] out to test it."
    )


def test_a_service_that_ends_in_mid_run_is_said_so(tmp_path: Path) -> None:
    port = free_port()
    argv = (*PYTHON_ORDERS, "--port", str(port), "--die-after", "1")
    message = message_of(run_service(tmp_path, with_start(port, *argv)))
    assert message.startswith("[")
    assert " request: " in message
    assert "([start]) was ended by SIGKILL." in message


@pytest.mark.parametrize(
    "spawn",
    [
        pytest.param("", id="one process"),
        pytest.param("subprocess.Popen(['sleep', '60'])", id="a child"),
        pytest.param(
            "subprocess.Popen(['sh', '-c', 'trap : TERM; while :; do sleep 0.1; done'])",
            id="a child that ignores SIGTERM",
        ),
    ],
)
def test_the_whole_group_of_a_started_service_is_ended(tmp_path: Path, spawn: str) -> None:
    (tmp_path / "service.py").write_text(
        f"import os, subprocess, sys\n{spawn}\n"
        f"os.execv({PYTHON_ORDERS[0]!r}, {[*PYTHON_ORDERS]!r} + sys.argv[1:])\n"
    )
    port = free_port()
    file = with_start(port, "python3", "service.py", "--port", str(port))
    report = run_service(tmp_path, file, cases=("matching-replay",))
    assert report.verdict == "pass"
    assert report.warnings == ()
    assert report.resources.processes_leaked == 0


def test_a_daemon_of_a_started_service_is_killed_by_the_guard_and_told(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(
        "import os, subprocess, sys\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"os.execv({PYTHON_ORDERS[0]!r}, {[*PYTHON_ORDERS]!r} + sys.argv[1:])\n"
    )
    port = free_port()
    file = with_start(port, "python3", "service.py", "--port", str(port))
    report = run_service(tmp_path, file, cases=("matching-replay",))
    assert report.verdict == "pass"
    (warning,) = report.warnings
    assert warning.startswith(
        "After `shutdown` the adapter left processes behind. 1 stray process had to be killed "
        "(sleep 60)."
    )


def test_a_started_service_is_killed_with_an_adapter_that_timed_out(tmp_path: Path) -> None:
    port = free_port()
    argv = (*PYTHON_ORDERS, "--port", str(port), "--hang-after", "1")
    report = run_service(tmp_path, with_start(port, *argv), call_seconds=0.5)
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.kind == "timeout"
    assert "the adapter was killed, and with it 1 more process" in failure.message
    assert "the state of the service is unknown" in failure.message


@needs("bwrap")
def test_a_service_is_started_inside_the_sandbox(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "orders.py").write_text(Path(PYTHON_ORDERS[1]).read_text())
    file = with_start(port, "python3", "orders.py", "--port", str(port))
    (tmp_path / "service.toml").write_text(file)
    finished = retryproof("run", "--sandbox", "bwrap", "--http", "service.toml", cwd=tmp_path)
    assert finished.stdout.startswith("pass: 7 cases planned: 7 passed")
    assert "\nSandbox: bubblewrap: no network; " in finished.stdout


def command_file(port: int, reset: tuple[str, ...], writes: tuple[str, ...]) -> str:
    return (
        WHOLE_FILE.format(port=port)
        .replace('request = "POST /test/reset"', f"command = {json.dumps(reset)}")
        .replace('request = "GET /test/orders"', f"command = {json.dumps(writes)}")
        .replace('count = "/count"', "")
    )


FETCH = "import urllib.request as u, sys; print({0})"
RESET = FETCH.format("u.urlopen(u.Request('http://127.0.0.1:{port}/test/reset', b'')).status")
COUNT = FETCH.format("u.urlopen('http://127.0.0.1:{port}/test/orders').read().decode()")


def test_commands_in_place_of_requests(tmp_path: Path) -> None:
    with running(*PYTHON_ORDERS) as port:
        reset, count = (python(source.format(port=port)) for source in (RESET, COUNT))
        file = command_file(port, reset, count) + 'count = "/count"\n'
        report = run_service(tmp_path, file, cases=("independent-keys",))
    assert report.verdict == "pass"


COMMANDS = {
    "no program": (("no-such-program",), "no-such-program can't be started: No such file or dire"),
    "a failure": (
        ("sh", "-c", "echo all is lost >&2; exit 3"),
        "sh -c 'echo all is lost >&2; exit 3' exited with status 3. It ended with \"all is lost\".",
    ),
    "a failure told on stdout": (
        ("sh", "-c", "echo lost; exit 1"),
        "sh -c 'echo lost; exit 1' exited with status 1. It ended with \"lost\".",
    ),
    "a signal": (("sh", "-c", "kill -9 $$"), "sh -c 'kill -9 $$' was ended by SIGKILL."),
}


@pytest.mark.parametrize("trouble", COMMANDS)
def test_a_command_that_fails(tmp_path: Path, trouble: str) -> None:
    argv, words = COMMANDS[trouble]
    for file, table in (
        (command_file(1, argv, ("true",)), "[reset]"),
        (command_file(1, ("true",), argv), "[writes]"),
    ):
        message = message_of(run_service(tmp_path, file))
        assert message.startswith(f"{table} command: {words}")


OUTPUTS = {
    "nothing": (("true",), "[writes] count: the output of true is not JSON: it is empty."),
    "words": (
        ("echo", "three writes"),
        "[writes] count: the output of echo 'three writes' is not JSON: \"three writes\\n\".",
    ),
    "a word": (
        ("echo", '"three"'),
        '[writes] count: the output of echo \'"three"\' has the string "three", and no whole '
        "number or array.",
    ),
    "a negative number": (
        ("echo", "-1"),
        "[writes] count: the output of echo -1 has the number -1, and no whole number or array.",
    ),
    "too much": (
        ("head", "-c", "1048577", "/dev/zero"),
        "[writes] command: the output of head -c 1048577 /dev/zero is longer than 1 MiB.",
    ),
}


@pytest.mark.parametrize("trouble", OUTPUTS)
def test_a_command_that_prints_no_count(tmp_path: Path, trouble: str) -> None:
    argv, words = OUTPUTS[trouble]
    assert message_of(run_service(tmp_path, command_file(1, ("true",), argv))) == words


def test_a_command_that_hangs_is_killed_with_the_adapter(tmp_path: Path) -> None:
    report = run_service(tmp_path, command_file(1, ("sleep", "60"), ("true",)), call_seconds=0.5)
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.kind == "timeout"
    assert failure.message.endswith(
        "and with it 1 more process (sleep 60). Whether this call took effect is unknown. Its "
        "stderr ended: [reset] command: sleep 60 | [reset] command: sleep 60 has not ended after "
        "0.45 s: the state of the service is unknown."
    )
    assert [child for child in psutil.Process().children() if child.name() == "sleep"] == []


def test_commands_run_in_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "reset.sh").write_text("pwd >&2; exit 1")
    message = message_of(run_service(tmp_path, command_file(1, ("sh", "reset.sh"), ("true",))))
    assert message.endswith(f'It ended with "{tmp_path.resolve()}".')

"""`retryproof runs`, `show`, `logs`, `cancel` and `status` with real daemons."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import retryproof
from tests.client.small_server import SmallServer, refuses
from tests.daemon.running import Daemon, endless, quick, zoo
from tests.driving import REFERENCE

COMMANDS = ("submit", "runs", "show", "logs", "cancel", "status")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """One run at a time: a second one waits."""
    with Daemon("--jobs", "1") as running:
        # Its client's connection is kept, and is no test's to close.
        running.readiness()
        yield running


def ask(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = {"RETRYPROOF_SOCKET": str(daemon.socket), "RETRYPROOF_STATE": str(daemon.state)}
    return retryproof(*arguments, env=places)


@pytest.fixture(scope="module")
def passed(daemon: Daemon) -> str:
    run: str = daemon.submit(quick())["id"]
    daemon.wait_until_over(run)
    return run


@pytest.fixture(scope="module")
def failed(daemon: Daemon) -> str:
    command = [sys.executable, REFERENCE, "--fault", "body-blind"]
    run: str = daemon.submit({"adapter": {"command": command, "cwd": "/"}, "client": "/ci"})["id"]
    daemon.wait_until_over(run)
    return run


@pytest.fixture
def running(daemon: Daemon) -> Iterator[str]:
    run = daemon.submit(endless())["id"]
    daemon.wait_for_call(run)
    yield run
    daemon.cancel(run)
    daemon.wait_until_over(run)


@pytest.fixture
def queued(daemon: Daemon, running: str) -> Iterator[str]:
    assert running
    run = daemon.submit(quick())["id"]
    yield run
    daemon.cancel(run)


def test_runs_are_listed_the_newest_first(daemon: Daemon, passed: str, failed: str) -> None:
    listed = ask(daemon, "runs", "--state", "finished")
    assert (listed.returncode, listed.stderr) == (0, "")
    lines = listed.stdout.splitlines()
    assert lines[0].split() == [
        *("id", "state", "verdict", "created", "took", "suite", "client", "adapter")
    ]
    assert [line.split()[:3] for line in lines[1:]] == [
        [failed, "finished", "FAIL"],
        [passed, "finished", "pass"],
    ]


def test_filters_and_pages(daemon: Daemon, passed: str, failed: str) -> None:
    def listed(*options: str) -> list[str]:
        page = json.loads(ask(daemon, "runs", "--json", "--state", "finished", *options).stdout)
        return [run["id"] for run in page["runs"]]

    assert listed() == [failed, passed]
    assert listed("--verdict", "fail") == listed("--client", "/ci") == [failed]
    assert listed("--suite", "retryfuse") == listed("--key", "none") == []
    first = ask(daemon, "runs", "--state", "finished", "--limit", "1").stdout
    assert "1 of 2 runs." in first
    cursor = first.split("--cursor ")[1].strip()
    assert listed("--limit", "1", "--cursor", cursor) == [passed]
    assert ask(daemon, "runs", "--key", "none").stdout == "There are no such runs.\n"
    assert ask(daemon, "runs", "--cursor", "x").returncode == 1


def test_a_report_is_shown_as_the_daemon_has_it(daemon: Daemon, passed: str, failed: str) -> None:
    for run, status in ((passed, 0), (failed, 1)):
        shown = ask(daemon, "show", run)
        assert (shown.returncode, shown.stderr) == (status, "")
        address = f"/v1/runs/{run}/report"
        with daemon.new_client() as client:
            assert shown.stdout == client.get(address, params={"format": "text"}).text
            document = client.get(address).text
        for options in (("--json",), ("--format", "json")):
            as_json = ask(daemon, "show", run, *options)
            assert (as_json.returncode, as_json.stdout) == (status, document)


def test_a_shown_failure_can_be_repeated(daemon: Daemon, failed: str) -> None:
    prefix = "  Repeat it: retryproof "
    told = ask(daemon, "show", failed).stdout
    (first, *_) = [line for line in told.splitlines() if line.startswith(prefix)]
    again = retryproof(*first.removeprefix(prefix).split())
    assert again.stdout.startswith("FAIL: 1 case planned: 0 passed, 1 failed")


def test_a_run_without_a_report_has_its_state_shown(
    daemon: Daemon, running: str, queued: str
) -> None:
    for run, state in ((running, "running"), (queued, "queued")):
        shown = ask(daemon, "show", run)
        assert shown.returncode == 1
        assert shown.stdout.startswith(f"The run {run} has been {state} since ")
        assert f"retryproof logs -f {run}\n" in shown.stdout
        as_json = ask(daemon, "show", "--json", run)
        document = json.loads(as_json.stdout)
        assert (as_json.returncode, document["state"]) == (1, state)
        assert document["report"] is None


def test_the_log_of_a_run_that_is_over(daemon: Daemon, failed: str) -> None:
    told = ask(daemon, "logs", failed)
    lines = told.stdout.splitlines()
    assert (told.returncode, told.stderr) == (0, "")
    assert " run of 7 cases, retry-conformance 1: " in lines[0]
    assert any(line.endswith(" case body-conflict") for line in lines)
    assert any(" step 1 -> 201, receipt 1; 1 write (" in line for line in lines)
    assert lines[-2].endswith(" run ended")
    assert lines[-1].startswith("FAIL: 7 cases planned: 5 passed, 2 failed")
    followed = ask(daemon, "logs", "-f", failed)
    assert (followed.returncode, followed.stdout) == (1, told.stdout)


def test_the_log_as_json_is_what_the_daemon_sends(daemon: Daemon, passed: str) -> None:
    told = ask(daemon, "logs", "--json", passed)
    documents = [json.loads(line) for line in told.stdout.splitlines()]
    sent = [event.data for event in daemon.events(passed) if event.kind != "end"]
    assert documents == sent
    assert documents[-1]["type"] == "RunEnded"


def test_the_log_so_far_does_not_wait_for_more(daemon: Daemon, running: str, queued: str) -> None:
    told = ask(daemon, "logs", running)
    assert told.returncode == 0
    assert " case matching-replay\n" in told.stdout
    assert "run ended" not in told.stdout
    nothing = ask(daemon, "logs", queued)
    assert (nothing.returncode, nothing.stdout) == (0, "")


def test_a_queued_run_that_is_cancelled_never_begins(daemon: Daemon, queued: str) -> None:
    for _ in range(2):
        told = ask(daemon, "cancel", queued)
        assert told.returncode == 0
        assert told.stdout == f"The run {queued} is cancelled before it began.\n"
    shown = ask(daemon, "show", queued)
    assert shown.returncode == 1
    assert shown.stdout == (
        f"The run {queued} was cancelled before it began: there is no report.\n"
    )
    followed = ask(daemon, "logs", "-f", queued)
    assert (followed.returncode, followed.stdout) == (1, "cancelled: it never began\n")


def test_a_running_one_ends_as_cancelled_with_what_it_had(daemon: Daemon, running: str) -> None:
    told = ask(daemon, "cancel", running)
    assert told.returncode == 0
    assert told.stdout.startswith(f"The run {running} is being cancelled")
    followed = ask(daemon, "logs", "-f", running)
    assert followed.returncode == 1
    assert followed.stdout.splitlines()[-1].startswith("cancelled: INCOMPLETE: 7 cases planned")
    shown = ask(daemon, "show", running)
    assert shown.returncode == 1
    assert "Interrupted by cancellation." in shown.stdout


def test_it_is_too_late_to_cancel_a_run_that_has_ended(daemon: Daemon, passed: str) -> None:
    told = ask(daemon, "cancel", passed)
    assert told.returncode == 1
    assert told.stdout.startswith(f"The run {passed} had ended already: pass: 7 cases planned")


def test_the_status_of_a_daemon(daemon: Daemon, running: str, queued: str) -> None:
    assert running != queued
    told = ask(daemon, "status")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        "ready",
        f"Socket: {daemon.socket}",
        f"Process: {daemon.process.pid}, retryproof 0.1.0",
        "Runs: 1 running of 1 at a time, 1 queued of 1,000",
    ]
    document = json.loads(ask(daemon, "status", "--json").stdout)
    assert document["daemon"]["pid"] == daemon.process.pid
    assert document["problem"] is None
    assert document["unfinishedSubmissions"] == []


def test_hostile_text_never_reaches_the_terminal_raw(daemon: Daemon) -> None:
    bad = "\x1b[31mred\x07\u202e"
    submission = zoo("start=hang", bad, limits={"startupSeconds": 0.2}, client=bad)
    run = daemon.submit(submission)["id"]
    daemon.wait_until_over(run)
    for command in (("runs",), ("show", run), ("logs", run), ("cancel", run)):
        output = ask(daemon, *command).stdout
        assert not {"\x1b", "\x07", "\u202e"} & set(output)
    unknown = ask(daemon, "show", bad)
    assert unknown.stderr.startswith("retryproof: There is no run \\x1b[31mred")


@pytest.mark.parametrize("command", ["show", "logs", "cancel"])
@pytest.mark.parametrize("run", ["0123456789abcdef", "../readyz", ""])
def test_a_run_that_is_not_there(daemon: Daemon, command: str, run: str) -> None:
    told = ask(daemon, command, run)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == (
        f"retryproof: There is no run {run}.\n`retryproof runs` lists those that there are.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [("runs",), ("show", "a"), ("logs", "a"), ("logs", "-f", "a"), ("cancel", "a"), ("status",)],
    ids=" ".join,
)
def test_without_a_daemon_each_says_how_to_start_one(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    socket = tmp_path / "s"
    told = retryproof(*arguments, "--socket", str(socket))
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == (
        f"retryproof: No daemon answers at {socket}.\nStart one: retryproof serve\n"
    )


def test_submit_gives_a_daemon_time_to_start_and_then_says_so_too(tmp_path: Path) -> None:
    told = retryproof(
        *("submit", "--socket", str(tmp_path / "s"), "--state", str(tmp_path / "state")),
        *("--python", sys.executable, REFERENCE),
    )
    assert (told.returncode, told.stdout) == (1, "")
    assert "Nothing was submitted in 6 attempts" in told.stderr
    assert told.stderr.endswith("Start one: retryproof serve\n")
    assert list((tmp_path / "state" / "submissions").iterdir()) == []


def test_a_path_that_is_too_long_for_a_socket_is_refused() -> None:
    told = retryproof("status", "--socket", "/" + "x" * 200)
    assert told.returncode == 2
    assert "Name a shorter one with --socket" in told.stderr


def test_a_refusal_is_told_in_the_daemons_words() -> None:
    with SmallServer(refuses(503, "store-unavailable", "The database is locked.")) as server:
        told = retryproof("runs", "--socket", str(server.socket))
    assert (told.returncode, told.stderr) == (1, "retryproof: The database is locked.\n")


@pytest.mark.parametrize("option", ["--client", "--key", "--cursor"])
def test_what_is_no_text_is_not_asked_for(tmp_path: Path, option: str) -> None:
    told = retryproof("runs", option, "\udcff", "--socket", str(tmp_path / "s"))
    assert (told.returncode, told.stderr) == (2, f"retryproof: {option} is no UTF-8 text.\n")


def test_other_commands_need_not_wait_for_what_only_these_use() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, retryproof.cli.main; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert not {"httpx2", "starlette", "uvicorn", "sqlite3"} & set(loaded.stdout.split())


def test_every_command_has_help_with_an_example() -> None:
    for command in COMMANDS:
        finished = retryproof(command, "--help")
        assert finished.returncode == 0
        assert "Example" in finished.stdout

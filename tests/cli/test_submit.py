"""`retryproof submit` with real daemons: the report of `run`, and one run whatever happens."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import RETRYPROOF, retryproof, wait_for
from tests.cli.test_run import on_a_terminal, read_all
from tests.client.proxy import loses_the_answer, loses_the_request, passes_on
from tests.client.small_server import SmallServer, says_nothing
from tests.daemon.running import FAULTY, Daemon, endless
from tests.driving import REFERENCE
from tests.fuse_suite.driving import REFERENCE as FUSE_REFERENCE
from tests.http_adapter.running import PYTHON_ORDERS, WHOLE_FILE
from tests.http_adapter.running import running as service_running
from tests.toolchains import needs

CORRECT = ("--python", sys.executable, REFERENCE)
PROGRAM = ("--", sys.executable, REFERENCE)
HANGS = ("--call-timeout", "600", "--", sys.executable, "-I", "-S", FAULTY)
PATIENCE_SECONDS = 30


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """Its own environment and folder are other ones than those of the commands."""
    with Daemon(environment={"HOME": "/nonexistent", "LC_TIME": "daemons"}) as running:
        yield running


def place(daemon: Daemon) -> dict[str, str]:
    return {"RETRYPROOF_SOCKET": str(daemon.socket), "RETRYPROOF_STATE": str(daemon.state)}


def submit(daemon: Daemon, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**place(daemon), **options.pop("env", {})}
    return retryproof("submit", *arguments, env=environment, **options)


def runs_of(daemon: Daemon) -> list[dict[str, Any]]:
    listed = retryproof("runs", "--json", env=place(daemon))
    runs: list[dict[str, Any]] = json.loads(listed.stdout)["runs"]
    return runs


def without_times(text: str) -> str:
    """What was measured stands in the last line."""
    return re.sub(r"\nResources: .*", "", text)


def untimed(document: dict[str, Any]) -> dict[str, Any]:
    for name in ("startedAt", "elapsedMs", "resources"):
        del document[name]
    for case in document["cases"]:
        for timed in filter(None, (case, case["failure"])):
            timed.pop("elapsedMs", None)
        for step in case.get("steps", ()):
            del step["elapsedMs"]
    return document


SAME_AS_RUN = [
    CORRECT,
    ("--case", "lost-create", "--case", "fixed-expiry", *CORRECT),
    ("--call-timeout", "1.5", *PROGRAM, "--fault", "body-blind"),
    ("--profile", "stripe", "--max-memory", "512", *CORRECT),
    ("--suite", "retryfuse", "--case", "rows-1-and-3", "--python", sys.executable, FUSE_REFERENCE),
    ("--", "no-such-program"),
    ("--keep-going", "--", sys.executable, "-I", "-S", FAULTY, "step2=exit"),
]


@pytest.mark.parametrize("arguments", SAME_AS_RUN, ids=lambda given: " ".join(given)[:30])
def test_waiting_gives_the_report_and_the_status_of_run(
    daemon: Daemon, arguments: tuple[str, ...]
) -> None:
    direct = retryproof("run", *arguments)
    waited = submit(daemon, "--wait", *arguments)
    assert (waited.returncode, waited.stderr) == (direct.returncode, "")
    assert without_times(waited.stdout) == without_times(direct.stdout)
    shown = json.loads(submit(daemon, "--wait", "--json", *arguments).stdout)
    assert untimed(shown) == untimed(json.loads(retryproof("run", "--json", *arguments).stdout))


def test_an_http_service_is_driven_as_by_run(daemon: Daemon, tmp_path: Path) -> None:
    with service_running(*PYTHON_ORDERS, "--fault", "body-blind") as port:
        (tmp_path / "service.toml").write_text(WHOLE_FILE.format(port=port))
        direct = retryproof("run", "--http", "service.toml", cwd=tmp_path)
        waited = submit(daemon, "--wait", "--http", "service.toml", cwd=tmp_path)
    assert waited.returncode == direct.returncode == 1
    assert without_times(waited.stdout) == without_times(direct.stdout)


@needs("bwrap")
def test_a_sandbox_is_made_as_by_run(daemon: Daemon, tmp_path: Path) -> None:
    sandbox = ("--sandbox", "bwrap", "--allow-network", "--writable", str(tmp_path))
    direct = retryproof("run", *sandbox, *CORRECT)
    waited = submit(daemon, "--wait", *sandbox, *CORRECT)
    assert "Sandbox: bubblewrap: the network is open; may write in" in waited.stdout
    assert without_times(waited.stdout) == without_times(direct.stdout)


def test_a_profile_of_ones_own_and_a_relative_module(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('create = [200, 201]\nreplay = "same"\n')
    (tmp_path / "adapter.py").write_text(Path(REFERENCE).read_text())
    arguments = ("--profile", "own.toml", "--python", sys.executable, "./adapter.py")
    direct = retryproof("run", *arguments, cwd=tmp_path)
    waited = submit(daemon, "--wait", *arguments, cwd=tmp_path)
    assert "Declared deviation: create is 200 or 201" in waited.stdout
    assert without_times(waited.stdout) == without_times(direct.stdout)
    assert runs_of(daemon)[0]["client"] == str(tmp_path)


SHOWS_SURROUNDINGS = """
import os, sys
print(os.getcwd(), sorted(os.environ.items()), file=sys.stderr)
def reset(): pass
def step(operation): return {"status": 201, "receipt": 1, "committedWrites": 1}
"""


def test_the_adapter_has_the_surroundings_of_whoever_submits(
    daemon: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "adapter.py").write_text(SHOWS_SURROUNDINGS)
    mine = {"LC_TIME": "mine", "DEPLOY_TOKEN": "s3cret", "TOKEN": "hidden"}
    arguments = ("--json", "--pass-env", "DEPLOY_TOKEN", "--env", "MODE=x", "adapter.py")
    direct = retryproof("run", *arguments, cwd=tmp_path, env=mine)
    waited = submit(daemon, "--wait", *arguments, cwd=tmp_path, env=mine)
    told = json.loads(waited.stdout)["stderrTail"]
    assert told == json.loads(direct.stdout)["stderrTail"]
    assert "('LC_TIME', 'mine')" in told
    assert "('DEPLOY_TOKEN', 's3cret')" in told
    assert "hidden" not in told


def test_the_report_file_equals_the_json_output(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    waited = submit(daemon, "--wait", "--json", "--report", f"json={path}", *CORRECT)
    assert path.read_text() == waited.stdout


def test_without_waiting_it_says_how_to_follow_the_run(daemon: Daemon) -> None:
    submitted = submit(daemon, *CORRECT)
    (run, *_) = runs_of(daemon)
    assert (submitted.returncode, submitted.stderr) == (0, "")
    assert submitted.stdout.startswith(f"Submitted: {run['id']} (")
    assert f"retryproof logs -f {run['id']}\n" in submitted.stdout
    assert f"retryproof show {run['id']}\n" in submitted.stdout
    assert list((daemon.state / "submissions").iterdir()) == []


def test_json_without_waiting_is_the_run(daemon: Daemon) -> None:
    submitted = submit(daemon, "--json", "--on-interrupt", "rerun", *CORRECT)
    run = json.loads(submitted.stdout)
    assert (submitted.returncode, run["onInterrupt"]) == (0, "rerun")
    assert run["id"] == runs_of(daemon)[0]["id"]
    assert run["idempotencyKey"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "Missing argument"),
        (("no-such-file.py",), "There is no file no-such-file.py."),
        (("--case", "nonsense", *CORRECT), "The contract has no case nonsense."),
        (("--report", "json=x", *CORRECT), "--report goes with --wait"),
        (("--python", "/no/python", REFERENCE), "/no/python, needed for --python"),
        (("--suite", "retryfuse", "--profile", "ietf", *CORRECT), "are for the suite retry."),
        (("--allow-network", *CORRECT), "go with --sandbox."),
        (("--max-memory", "9999999999999", *CORRECT), "limits.memoryBytes"),
        (("--on-interrupt", "never", *CORRECT), "--on-interrupt"),
        (("-v", *CORRECT), "No such option"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_is_wrong_is_found_before_anything_is_sent(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    # There is no daemon that could have found it.
    places = {"RETRYPROOF_SOCKET": str(tmp_path / "s"), "RETRYPROOF_STATE": str(tmp_path)}
    finished = retryproof("submit", *arguments, env=places)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert complaint in finished.stderr
    assert os.listdir(tmp_path) == []


Meanwhile = Callable[[], object]


def one_run_is_submitted(daemon: Daemon, proxy: SmallServer) -> None:
    env = {"RETRYPROOF_SOCKET": str(proxy.socket)}
    submitted = submit(daemon, "--json", *CORRECT, env=env)
    assert submitted.returncode == 0, submitted.stderr
    assert "Looking whether the run was submitted." in submitted.stderr
    keys = {
        request.headers["Idempotency-Key"] for request in proxy.requests if request.method == "POST"
    }
    (run,) = runs_of(daemon)
    assert keys == {run["idempotencyKey"]}
    assert json.loads(submitted.stdout)["id"] == run["id"]
    assert list((daemon.state / "submissions").iterdir()) == []


@pytest.mark.parametrize("killed", [False, True], ids=["connection lost", "daemon killed"])
def test_an_answer_that_is_lost_makes_no_second_run(killed: bool) -> None:
    with Daemon() as daemon:
        lost = loses_the_answer(daemon, lambda: killed and restarted(daemon))
        with SmallServer(lost, passes_on(daemon)) as proxy:
            one_run_is_submitted(daemon, proxy)


@pytest.mark.parametrize("killed", [False, True], ids=["connection lost", "daemon killed"])
def test_a_request_that_is_lost_is_sent_again(killed: bool) -> None:
    with Daemon() as daemon:
        lost = loses_the_request(lambda: killed and restarted(daemon))
        with SmallServer(lost, passes_on(daemon), passes_on(daemon)) as proxy:
            one_run_is_submitted(daemon, proxy)


def restarted(daemon: Daemon) -> bool:
    daemon.kill()
    daemon.restart()
    return True


def test_a_daemon_that_is_killed_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    marker = tmp_path / "was-there"
    with Daemon() as daemon:
        waiting = subprocess.Popen(
            [
                *(*RETRYPROOF, "submit", "--wait", "--on-interrupt", "rerun", *HANGS),
                *("--once", str(marker), "step2=hang"),
            ],
            env={**os.environ, **place(daemon)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(marker.exists, "the hanging call")
        daemon.kill()
        daemon.restart()
        stdout, stderr = waiting.communicate(timeout=PATIENCE_SECONDS)
    assert (waiting.returncode, stderr) == (0, "")
    assert stdout.startswith("pass: 7 cases planned: 7 passed")


def test_a_run_that_is_not_to_be_repeated_ends_as_what_it_had(tmp_path: Path) -> None:
    marker = tmp_path / "was-there"
    with Daemon() as daemon:
        waiting = subprocess.Popen(
            [
                *(*RETRYPROOF, "submit", "--wait", "--json", *HANGS),
                *("--once", str(marker), "step2=hang"),
            ],
            env={**os.environ, **place(daemon)},
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(marker.exists, "the hanging call")
        daemon.kill()
        daemon.restart()
        stdout, _ = waiting.communicate(timeout=PATIENCE_SECONDS)
    report = json.loads(stdout)
    assert waiting.returncode == report["exitStatus"] == 1
    assert (report["verdict"], report["interruptedBy"]) == ("incomplete", "daemon death")


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_an_interruption_leaves_the_run_alone_and_says_how_to_cancel_it(
    daemon: Daemon, tmp_path: Path, number: int, status: int
) -> None:
    marker = tmp_path / "was-there"
    waiting = subprocess.Popen(
        [*RETRYPROOF, "submit", "--wait", *HANGS, "--once", str(marker), "step2=hang"],
        env={**os.environ, **place(daemon)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(marker.exists, "the hanging call")
    waiting.send_signal(number)
    stdout, stderr = waiting.communicate(timeout=PATIENCE_SECONDS)
    (run, *_) = runs_of(daemon)
    assert (waiting.returncode, stdout) == (status, "")
    assert stderr == (
        f"retryproof: Interrupted; the run {run['id']} goes on.\n"
        f"Cancel it: retryproof cancel {run['id']}. Follow it: retryproof logs -f {run['id']}\n"
    )
    assert run["state"] == "running"
    assert retryproof("cancel", run["id"], env=place(daemon)).returncode == 0
    assert retryproof("logs", "-f", run["id"], env=place(daemon)).returncode == 1


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_submission_that_is_cut_off_is_listed_until_it_is_settled(
    tmp_path: Path, number: int, status: int
) -> None:
    with SmallServer(says_nothing) as server:
        places = {"RETRYPROOF_SOCKET": str(server.socket), "RETRYPROOF_STATE": str(tmp_path)}
        submitting = subprocess.Popen(
            [*RETRYPROOF, "submit", *CORRECT],
            env={**os.environ, **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: bool(server.requests), "the request")
        submitting.send_signal(number)
        _, stderr = submitting.communicate(timeout=PATIENCE_SECONDS)
        key = server.requests[0].headers["Idempotency-Key"]
    assert submitting.returncode == status
    if number != signal.SIGKILL:
        assert f"Whether the run was submitted: retryproof runs --key {key}\n" in stderr
    listed = retryproof("status", env=places)
    assert listed.returncode == 1
    assert f"Was it taken: retryproof runs --key {key}\n" in listed.stdout
    assert "No daemon answers at" in listed.stderr
    document = json.loads(retryproof("status", "--json", env=places).stdout)
    assert document["daemon"] is None
    (unfinished,) = document["unfinishedSubmissions"]
    assert unfinished["record"]["key"] == key
    assert Path(unfinished["file"]).is_file()


def test_a_terminal_shows_what_runs_in_the_daemon(daemon: Daemon, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text("import time\ndef reset(): pass\ndef step(operation):\n    time.sleep(60)\n")
    status, shown = on_a_terminal(
        {"COLUMNS": "120", **place(daemon)},
        *("submit", "--wait", "--call-timeout", "0.6", "--python", sys.executable, str(adapter)),
    )
    assert status == 1
    assert "case 1 of 7, matching-replay: step 1 (0." in shown
    assert "timeout" in shown


def test_a_terminal_shows_that_the_run_is_queued() -> None:
    ours, theirs = pty.openpty()
    with Daemon("--jobs", "1") as daemon:
        before = daemon.submit(endless())["id"]
        waiting = subprocess.Popen(
            [*RETRYPROOF, "submit", "--wait", *CORRECT],
            env={**os.environ, "TERM": "xterm", **place(daemon)},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        read_until("adapter: queued (", ours)
        daemon.cancel(before)
        shown = read_all(ours)
        os.close(ours)
        assert waiting.wait(PATIENCE_SECONDS) == 0
    assert "7 passed" in shown


def read_until(text: str, terminal: int) -> None:
    shown = b""
    while text.encode() not in shown:
        shown += os.read(terminal, 65536)

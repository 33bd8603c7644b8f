"""A database that is locked, damaged or another's: the way out is told, nothing is touched."""

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import wait_for
from tests.daemon.running import Daemon, endless, gated, quick

PAGE_BYTES = 4096
SECONDS = 8
"""A few: two for the lock, and a margin for a machine that does other things."""
CLIENTS = 16
WRITTEN_AND_KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
for statement in sys.argv[2:]:
    connection.execute(statement)
os._exit(0)
"""
LOCKED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("locked", flush=True)
sys.stdin.read()
"""
WRITE_LOCK = ("BEGIN EXCLUSIVE",)
WHOLE_LOCK = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "PRAGMA user_version = 1")
"""Nobody else can read, either."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a daemon that was stopped after a run."""
    kept = tmp_path_factory.mktemp("kept") / "state"
    with Daemon("--jobs", "2") as daemon:
        daemon.wait_until_over(daemon.submit(quick(suite="retryfuse"))["id"])
        assert daemon.stop() == 0
        shutil.copytree(daemon.state, kept)
    return kept


@pytest.fixture
def daemon(state: Path) -> Iterator[Daemon]:
    """A daemon that does not run, and has that state."""
    daemon = Daemon("--jobs", "2")
    shutil.copytree(state, daemon.state)
    yield daemon
    if daemon.is_running:
        assert daemon.stop() == 0
    daemon.remove()


def path(daemon: Daemon) -> Path:
    return daemon.state / "runs.sqlite3"


@contextmanager
def locked(daemon: Daemon, *statements: str) -> Iterator[None]:
    """Another program has a lock on the database."""
    command = [sys.executable, "-c", LOCKED, str(path(daemon)), *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield


def files(daemon: Daemon) -> dict[str, bytes]:
    """The database and what SQLite has beside it, but the index to the log, which is no data."""
    return {
        file.name: file.read_bytes()
        for file in daemon.state.glob("runs.sqlite3*")
        if not file.name.endswith("-shm")
    }


def check_refused(daemon: Daemon, *words: str) -> None:
    before = files(daemon)
    refused = daemon.refused()
    assert refused.returncode == 1
    assert refused.stdout == ""
    lines = refused.stderr.splitlines()
    assert len(lines) == 2, refused.stderr
    assert lines[0].startswith("retryproof: ")
    assert str(path(daemon)) in lines[0]
    for word in words:
        assert word in refused.stderr
    assert files(daemon) == before
    assert not daemon.socket.exists()


def garbage_header(content: bytearray) -> None:
    content[:100] = b"\xa5" * 100


def flipped_pages(content: bytearray) -> None:
    pages = len(content) // PAGE_BYTES
    assert pages > 8
    for page in (pages // 3, pages // 2):
        start = page * PAGE_BYTES
        content[start : start + PAGE_BYTES] = bytes(
            byte ^ 0xFF for byte in content[start : start + PAGE_BYTES]
        )


def truncated(content: bytearray) -> None:
    del content[len(content) // 2 :]


def truncated_in_the_first_page(content: bytearray) -> None:
    del content[1000:]


def no_database(content: bytearray) -> None:
    content[:] = b"Dear diary, today I met a rhinoceros.\n" * 300


def a_few_bytes(content: bytearray) -> None:
    content[:] = b"hello"


def zeroed(content: bytearray) -> None:
    content[:] = bytes(len(content))


@pytest.mark.parametrize(
    "damage",
    [
        garbage_header,
        flipped_pages,
        truncated,
        truncated_in_the_first_page,
        no_database,
        a_few_bytes,
        zeroed,
    ],
)
def test_damaged(daemon: Daemon, damage: Callable[[bytearray], None]) -> None:
    content = bytearray(path(daemon).read_bytes())
    damage(content)
    path(daemon).write_bytes(content)
    check_refused(daemon, "Move it away", "--state", "Nothing was changed in it")


def written_and_killed(database: Path, *statements: str) -> None:
    """Another program writes, and dies before its log has become a part of the file."""
    command = [sys.executable, "-c", WRITTEN_AND_KILLED, str(database), *statements]
    subprocess.run(command, check=True)
    database.chmod(0o600)
    assert Path(f"{database}-wal").stat().st_size > 0


def test_damaged_with_a_log(daemon: Daemon) -> None:
    written_and_killed(path(daemon), "UPDATE runs SET client = 'x'")
    content = bytearray(path(daemon).read_bytes())
    flipped_pages(content)
    path(daemon).write_bytes(content)
    check_refused(daemon, "damaged", "Move it away")


def test_of_a_newer_version(daemon: Daemon) -> None:
    written_and_killed(path(daemon), "PRAGMA user_version = 999", "CREATE TABLE news (what TEXT)")
    check_refused(daemon, "newer", "999", "Start that retryproof")


@pytest.mark.parametrize("application", [0, 0x47504B47])
def test_of_another_program(daemon: Daemon, application: int) -> None:
    for name in files(daemon):
        (daemon.state / name).unlink()
    written_and_killed(
        path(daemon), f"PRAGMA application_id = {application}", "CREATE TABLE tiles (x BLOB)"
    )
    check_refused(daemon, "none of retryproof's", "Move it away")


def test_moved_away_it_starts_afresh(daemon: Daemon) -> None:
    path(daemon).write_bytes(b"garbage" * 1000)
    check_refused(daemon)
    path(daemon).rename(daemon.folder / "kept")
    daemon.start()
    assert daemon.client.get("/v1/runs").json()["total"] == 0


def test_wholly_locked_at_the_start(daemon: Daemon) -> None:
    with locked(daemon, *WHOLE_LOCK):
        check_refused(daemon, "locked", "has another program locked it?")
    daemon.start()
    assert daemon.client.get("/v1/runs").json()["total"] == 1


def test_locked_at_the_start_with_a_run_to_settle(daemon: Daemon) -> None:
    daemon.start()
    run = daemon.submit(endless())["id"]
    daemon.wait_for_call(run)
    daemon.kill()
    with locked(daemon, *WRITE_LOCK):
        before = files(daemon)
        refused = daemon.refused()
        assert refused.returncode == 1
        assert "locked" in refused.stderr
        assert "has another program locked it?" in refused.stderr
        assert len(refused.stderr.splitlines()) == 2, refused.stderr
        assert files(daemon) == before
        assert not daemon.socket.exists()
    daemon.start()
    assert daemon.get(run)["state"] == "interrupted"


def test_locked_at_run_time(daemon: Daemon, place: Path) -> None:
    daemon.start()
    gate = place / "gate"
    driven = daemon.submit(gated(gate))["id"]
    daemon.wait_for_call(driven)
    with locked(daemon, *WRITE_LOCK):
        answers = submit_at_once(daemon, CLIENTS)
        assert {status for status, _, _ in answers} == {503}
        assert {problem["code"] for _, problem, _ in answers} == {"store-unavailable"}
        assert all("locked" in problem["message"] for _, problem, _ in answers)
        assert max(seconds for _, _, seconds in answers) < SECONDS
        # To look is possible all the while.
        assert daemon.get(driven)["state"] == "running"
        gate.touch()
        wait_for(lambda: daemon.readiness()[0] == 503, "the end of readiness")
        assert "locked" in daemon.readiness()[1]["problem"]
    wait_for(lambda: daemon.readiness()[0] == 200, "readiness")
    assert daemon.wait_until_over(driven)["verdict"] == "pass"
    assert daemon.client.get("/v1/runs").json()["total"] == 2
    assert daemon.wait_until_over(daemon.submit(quick())["id"])["verdict"] == "pass"
    assert daemon.log == ""


def submit_at_once(daemon: Daemon, clients: int) -> list[tuple[int, dict[str, Any], float]]:
    """The status, the problem and the seconds of each submission."""
    answers: list[tuple[int, dict[str, Any], float]] = []

    def submit(number: int) -> None:
        started = time.monotonic()
        headers = {"Idempotency-Key": str(number)}
        answer = daemon.client.post("/v1/runs", json=quick(), headers=headers)
        answers.append((answer.status_code, answer.json()["error"], time.monotonic() - started))

    threads = [threading.Thread(target=submit, args=[number]) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == clients
    return answers


def test_a_program_that_looks_into_it_is_no_harm(daemon: Daemon) -> None:
    daemon.start()
    with closing(sqlite3.connect(f"file:{path(daemon)}?mode=ro", uri=True)) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        assert daemon.wait_until_over(daemon.submit(quick())["id"])["verdict"] == "pass"
        assert daemon.readiness()[0] == 200

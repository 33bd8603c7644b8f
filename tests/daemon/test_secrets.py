"""The values of added variables: the adapter gets them, and nobody else, for no longer."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.daemon.running import Daemon, endless, quick

SECRET = "the value that nobody may see"
INHERITED = "the value of a variable of the short list"
CHECKING = """
import os, sys
token, inherited, *rest = sys.argv[1:]
assert os.environ["TOKEN"] == token[::-1]
assert os.environ["LC_TEST"] == inherited[::-1]
os.execv(sys.executable, [sys.executable, "-I", "-S", *rest])
"""
"""An adapter that begins only if it has the values. Reports show arguments: they are reversed."""


@pytest.fixture
def daemon(nothing_is_left: None) -> Iterator[Daemon]:
    """One that drives one run at a time."""
    with Daemon("--jobs", "1") as daemon:
        yield daemon


def secretive(submission: dict[str, Any], padding: int = 0) -> dict[str, Any]:
    """The submission of one of the zoo's, with variables that it insists on having."""
    _, _, _, *rest = submission["adapter"]["command"]
    adapter = {
        "command": [sys.executable, "-c", CHECKING, SECRET[::-1], INHERITED[::-1], *rest],
        "cwd": "/",
        "environment": {"TOKEN": SECRET, "PADDING": SECRET * padding},
        "inherited": {"LC_TEST": INHERITED},
    }
    return {**submission, "adapter": adapter}


def assert_forgotten(daemon: Daemon) -> None:
    """No file of the daemon has a value, once what SQLite has noted is in its place."""
    with closing(sqlite3.connect(daemon.state / "runs.sqlite3")) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    for file in [path for path in daemon.folder.rglob("*") if path.is_file()]:
        content = file.read_bytes()
        assert SECRET.encode() not in content, file
        assert INHERITED.encode() not in content, file


def everything_told(daemon: Daemon, run: str) -> Iterator[str]:
    """All that the daemon says of the run, and all that it says of itself."""
    for path in ("", "/report", "/report?format=text", "/events?follow=false"):
        yield daemon.client.get(f"/v1/runs/{run}{path}").text
    for path in ("/v1/runs", "/readyz", "/metrics", "/openapi.json"):
        yield daemon.client.get(path).text


def assert_not_told(daemon: Daemon, run: str) -> None:
    for text in everything_told(daemon, run):
        assert SECRET not in text
        assert INHERITED not in text


def test_of_a_run_that_is_over_the_values_are_forgotten(daemon: Daemon) -> None:
    # So much that it is in a page, on several pages, or so little that it is neither.
    for padding in (0, 100, 1000):
        submission = secretive(quick(cases=["matching-replay"]), padding)
        run = daemon.submit(submission, f"key-{padding}")
        over = daemon.wait_until_over(run["id"])
        assert over["verdict"] == "pass", over["report"]
        assert over["report"]["adapter"]["addedEnvironment"] == ["PADDING", "TOKEN"]
        assert_forgotten(daemon)
        assert_not_told(daemon, run["id"])
        # The key still knows the body, by its fingerprint.
        assert daemon.submit(submission, f"key-{padding}")["id"] == run["id"]


def test_of_a_run_that_was_cancelled_too(daemon: Daemon) -> None:
    running = daemon.submit(secretive(endless()))["id"]
    daemon.wait_for_call(running)
    queued = daemon.submit(secretive(quick(), 100))["id"]
    for run in (running, queued):
        assert_not_told(daemon, run)
        daemon.cancel(run)
        daemon.wait_until_over(run)
        assert_not_told(daemon, run)
    assert_forgotten(daemon)


def test_of_a_run_that_a_kill_has_interrupted_too(daemon: Daemon) -> None:
    run = daemon.submit(secretive(endless()))["id"]
    daemon.wait_for_call(run)
    daemon.kill()
    daemon.restart()
    assert daemon.get(run)["state"] == "interrupted"
    assert_not_told(daemon, run)
    assert_forgotten(daemon)


def test_after_a_stop_no_log_is_left(daemon: Daemon) -> None:
    daemon.wait_until_over(daemon.submit(secretive(quick(cases=["matching-replay"]), 10))["id"])
    assert daemon.stop() == 0
    names = {path.name for path in daemon.state.iterdir()}
    assert not any(name.startswith("runs.sqlite3-") for name in names)
    assert SECRET.encode() not in (daemon.state / "runs.sqlite3").read_bytes()
    daemon.restart()


REFUSED: list[dict[str, Any]] = [
    {"command": ["sh"], "environment": {"TOKEN": f"{SECRET}\0"}},
    {"command": ["sh"], "environment": {"TOKEN": [SECRET]}},
    {"command": ["sh"], "environment": {"TOKEN": SECRET, "A=B": SECRET}},
    {"command": ["sh"], "environment": SECRET},
    {"command": ["sh"], "inherited": {"LC_TEST": f"{SECRET}\0"}},
    {"module": "/none.py", "environment": {"TOKEN": SECRET}},
]


def test_a_refusal_does_not_repeat_them(daemon: Daemon) -> None:
    for adapter in REFUSED:
        answer = daemon.client.post("/v1/runs", json={"adapter": {"cwd": "/", **adapter}})
        assert answer.status_code == 400
        assert SECRET not in answer.text
        assert SECRET not in daemon.log

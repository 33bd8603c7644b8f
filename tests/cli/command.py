"""The command as a user runs it: a process of its own, its output captured."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

RETRYPROOF = (sys.executable, "-m", "retryproof")
PATIENCE_SECONDS = 20


def retryproof(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(
        [*RETRYPROOF, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        input=stdin,
        timeout=60,
    )


def retryproof_json(*arguments: str, cwd: Path | None = None) -> dict[str, Any]:
    """Runs a command with --json; stdout must be one JSON document."""
    finished = retryproof(*arguments[:1], "--json", *arguments[1:], cwd=cwd)
    document: dict[str, Any] = json.loads(finished.stdout)
    return document


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Returns once the condition holds; fails the test if it does not come to."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)


def wait_until_dead(pids: list[int]) -> None:
    """Returns once none of the processes lives; a zombie that nobody reaps is dead."""
    wait_for(lambda: not any(map(_is_alive, pids)), "the end of the adapter's processes")


def reap_inherited() -> None:
    """Reaps what a killed harness has left to this process, its guard among it."""
    children = psutil.Process().children()
    psutil.wait_procs(children, timeout=PATIENCE_SECONDS)


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""An interruption at any moment leaves nothing behind, and what is known is still told."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.command import RETRYPROOF, reap_inherited, wait_until_dead

MOMENTS = 24
LAST_MOMENT_SECONDS = 1.5
"""From the command's start to well after the end of an undisturbed run."""
SLOW = """
import subprocess, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
def reset(): time.sleep(0.01)
def step(operation):
    time.sleep(0.02)
    return {"status": 201, "receipt": 1, "committedWrites": 1}
"""


def moments() -> list[tuple[int, float, int]]:
    """Which signal, when, and how often: spread over the whole run, the same each time."""
    chooser = random.Random(20)
    return [
        (
            chooser.choice([signal.SIGINT, signal.SIGTERM]),
            chooser.uniform(0, LAST_MOMENT_SECONDS),
            chooser.choice([1, 2, 5]),
        )
        for _ in range(MOMENTS)
    ]


@pytest.mark.parametrize(("number", "after_seconds", "times"), moments())
def test_at_any_moment(tmp_path: Path, number: int, after_seconds: float, times: int) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(SLOW)
    process = subprocess.Popen(
        [*RETRYPROOF, "run", "--json", "--python", sys.executable, str(adapter)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after_seconds)
    family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    for _ in range(times):
        process.send_signal(number)
    stdout, _ = process.communicate(timeout=30)
    wait_until_dead([member.pid for member in family])
    reap_inherited()
    if stdout:
        check_what_was_told(json.loads(stdout), process.returncode, number)
    else:
        # It came before the command had begun to listen, and so before anything was started.
        assert process.returncode != 0
        assert family == []


def check_what_was_told(report: dict, status: int, number: int) -> None:  # type: ignore[type-arg]
    counts = report["counts"]
    assert counts["planned"] == 7
    assert sum(counts.values()) == 14
    assert report["exitStatus"] == status
    if report["interruptedBy"] is None:
        assert status == 1
        assert counts["notRun"] == counts["incomplete"] == 0
    else:
        assert status == 128 + number

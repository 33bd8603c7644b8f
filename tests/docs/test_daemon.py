"""The pages about the daemon: their commands run, and what they name is there."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from retryproof.api.reading import read_body
from retryproof.api.submission import AdapterSubmission, RunSubmission
from retryproof.daemon.metrics import Metrics
from retryproof.resources import path_of

from tests.leaks import nothing_is_left

__all__ = ["nothing_is_left"]

DOCS = Path(__file__).parent.parent.parent / "harness/docs"
PAGE = (DOCS / "daemon.md").read_text(encoding="utf-8")
CI_PAGE = (DOCS / "daemon-in-ci.md").read_text(encoding="utf-8")
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, since a socket's path has to be; with an adapter in it."""
    with tempfile.TemporaryDirectory(prefix="rp-") as name:
        shutil.copy(path_of("adapters/python/reference.py"), Path(name, "adapter.py"))
        yield Path(name)


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RETRYPROOF_SOCKET": str(folder / "run/socket"),
        "RETRYPROOF_STATE": str(folder / "state"),
    }
    return subprocess.run(
        ("bash", "-c", commands),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_first_commands_end_with_a_report(folder: Path) -> None:
    commands = SHELL_BLOCK.findall(PAGE)[0]

    finished = shell(f"{commands}status=$?; kill -TERM %1; wait %1; exit $status", folder)

    assert finished.returncode == 0, finished.stderr
    assert "pass: 7 cases planned: 7 passed" in finished.stdout


def test_the_job_s_command_writes_its_report(folder: Path) -> None:
    job = SHELL_BLOCK.findall(CI_PAGE)[1]
    assert "-- ./build/adapter" in job
    host = path_of("adapters/python/host.py")
    command = job.replace("./build/adapter", f"{sys.executable} {host} adapter.py").strip()

    serve = "retryproof serve & "
    finished = shell(f"{serve} {command}; status=$?; kill -TERM %1; wait %1; exit $status", folder)

    assert finished.returncode == 0, finished.stderr
    assert json.loads((folder / "retryproof.json").read_bytes())["verdict"] == "pass"


def test_the_request_is_one_that_the_daemon_takes() -> None:
    (body,) = re.findall(r"-d '(.*)'$", PAGE, re.M)

    submission = read_body(body.encode(), RunSubmission)

    assert submission.adapter.command == ("node", "adapter.mjs")


def test_the_members_of_a_submission_are_all_named() -> None:
    (row,) = re.findall(r"^\| `POST /v1/runs` \|.*$", PAGE, re.M)

    for name in (
        *RunSubmission.__struct_encode_fields__,
        *AdapterSubmission.__struct_encode_fields__,
    ):
        assert f"`{name}`" in row


def test_the_metrics_are_there() -> None:
    exposed = Metrics().exposition(queued=0, running=0).decode()

    named = re.findall(r"`(retryproof_\w+)(?:\{\w+\})?`", CI_PAGE)
    assert len(named) == 6
    for name in named:
        assert f"# HELP {name} " in exposed

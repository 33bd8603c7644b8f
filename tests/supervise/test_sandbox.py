"""The sandbox, tried from inside."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from retryproof.supervise.launch import Sandbox
from retryproof.supervise.sandbox import sandboxed

from tests.cli.command import (
    RETRYPROOF,
    reap_inherited,
    retryproof,
    wait_for,
    wait_until_dead,
)
from tests.driving import (
    NODE_REFERENCE,
    REFERENCE,
    case_of,
    python_module,
    python_program,
    run,
)
from tests.supervise.test_session import GREETING
from tests.toolchains import needs, needs_node

pytestmark = needs("bwrap")

PROBES = """
import glob, json, os, socket, subprocess, sys

def tried(what):
    try:
        return what() or "done"
    except OSError as error:
        return type(error).__name__

def write(path):
    return lambda: open(path, "w").close()

def connect():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1):
        return "connected"

def connect_abstract():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\\0" + sys.argv[2])
        return "connected"

def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name): return line.split()[1]

findings = {
    "/run": os.listdir("/run"),
    "network": tried(connect),
    "abstract socket": tried(connect_abstract),
    "own folder": tried(write(os.path.join(os.path.dirname(__file__), "written"))),
    "current folder": tried(write("written")),
    "/usr": tried(write("/usr/written")),
    "/tmp": tried(write("/tmp/written")),
    "remount": subprocess.run(["mount", "-o", "remount,rw,bind", "/"]).returncode,
    "others": sorted(int(name) for name in os.listdir("/proc") if name.isdigit())[-1],
    "capabilities": status("CapEff") + status("CapBnd"),
    "user": os.getuid(),
    "secret": os.environ.get("DEPLOY_TOKEN"),
    "secret of 1": b"DEPLOY_TOKEN" in open("/proc/1/environ", "rb").read(),
}
print(json.dumps(findings), file=sys.stderr)
def reset(): pass
def step(operation): return {"status": 201, "receipt": 1, "committedWrites": 1}
"""


@pytest.fixture
def listening() -> Iterator[tuple[str, str]]:
    """A port, and the name of an abstract Unix socket, that connections would reach."""
    name = f"retryproof-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0" + name)
        abstract.listen()
        yield str(tcp.getsockname()[1]), name


Probe = Callable[..., dict[str, Any]]


@pytest.fixture
def probe(tmp_path: Path, listening: tuple[str, str]) -> Probe:
    """Runs the probes in a sandbox that is given more options."""
    adapter = tmp_path / "adapter.py"
    port, name = listening
    adapter.write_text(PROBES.replace("sys.argv[1]", repr(port)).replace("sys.argv[2]", repr(name)))

    def findings(*options: str) -> dict[str, Any]:
        finished = retryproof(
            *("run", "--json", "--sandbox", "bwrap", *options),
            *("--python", sys.executable, str(adapter)),
            cwd=tmp_path,
            env={"DEPLOY_TOKEN": "s3cret"},
        )
        report = json.loads(finished.stdout)
        assert report["containment"] == "bwrap"
        found: dict[str, Any] = json.loads(report["stderrTail"].splitlines()[-1])
        return found

    return findings


def test_a_sandboxed_adapter_reaches_nobody_and_changes_nothing(probe: Probe) -> None:
    findings = probe()
    assert findings["network"] != "connected"
    assert findings["abstract socket"] != "connected"
    assert {findings[place] for place in ("own folder", "current folder", "/usr")} == {"OSError"}
    assert findings["/tmp"] == "done"
    assert findings["remount"] != 0
    assert findings["others"] < 10
    assert int(findings["capabilities"], 16) == 0
    assert findings["user"] == 65534
    assert findings["/run"] == []
    assert findings["secret"] is None
    assert findings["secret of 1"] is False


def test_the_network_is_open_only_if_it_is_allowed(probe: Probe) -> None:
    assert probe("--allow-network")["network"] == "connected"


def test_a_folder_is_writable_only_if_it_is_named(probe: Probe, tmp_path: Path) -> None:
    assert probe("--writable", str(tmp_path))["own folder"] == "done"
    assert (tmp_path / "written").exists()


@pytest.mark.parametrize(
    "reference", [REFERENCE, pytest.param(NODE_REFERENCE, marks=needs_node)], ids=["python", "node"]
)
def test_the_references_pass_in_the_sandbox(reference: str) -> None:
    finished = retryproof(
        *("run", "--sandbox", "bwrap", "--json"),
        *(("--python", sys.executable) if reference.endswith(".py") else ()),
        reference,
    )
    report = json.loads(finished.stdout)
    assert report["verdict"] == "pass"
    assert report["adapter"]["sandbox"] == {"network": False, "writable": []}
    assert report["resources"]["processesLeaked"] == 0
    assert report["warnings"] == []


def sandboxed_module(tmp_path: Path, source: str) -> Any:
    path = tmp_path / "adapter.py"
    path.write_text("import os, subprocess, time\ndef reset(): pass\n" + source)
    return sandboxed(python_module(path), Sandbox())


def test_strays_are_counted_and_killed_in_the_sandbox(tmp_path: Path) -> None:
    source = """
def step(operation):
    for _ in range(3): subprocess.Popen(["sleep", "1000"], start_new_session=True)
    time.sleep(1000)
"""
    report = run(sandboxed_module(tmp_path, source), call_seconds=0.5)
    failure = case_of(report, "matching-replay").failure
    assert failure is not None
    assert "and with it 3 more processes (sleep 1000 x3)" in failure.message
    assert report.containment == "bwrap"


def test_the_signal_that_ends_the_adapter_is_named_in_the_sandbox(tmp_path: Path) -> None:
    report = run(sandboxed_module(tmp_path, "def step(operation): os.abort()\n"))
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.message.startswith("The adapter was ended by SIGABRT while `step`")


def test_a_program_that_is_not_there_is_a_launch_failure_in_the_sandbox() -> None:
    report = json.loads(
        retryproof("run", "--json", "--sandbox", "bwrap", "--", "no-such-program").stdout
    )
    failure = report["cases"][0]["failure"]
    assert failure["kind"] == "launch"
    assert "no-such-program: No such file or directory" in failure["message"]
    assert verdicts_of(report) == ["incomplete", *["not-run"] * 6]


def verdicts_of(report: dict[str, Any]) -> list[str]:
    return [case["verdict"] for case in report["cases"]]


def test_any_argument_can_be_given_to_a_sandboxed_program() -> None:
    program = f"{GREETING}\n# {'long ' * 1000}\nanswer(next(requests), None)"
    launch = sandboxed(python_program(program), Sandbox())
    report = run(launch, cases=("matching-replay",))
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.kind == "crash"
    assert failure.call.method == "step"


def test_what_an_adapter_needs_without_naming_it_is_visible(tmp_path: Path) -> None:
    (tmp_path / "needed").write_text("seen")
    source = f"import sys; sys.stderr.write(open({str(tmp_path / 'needed')!r}).read())"
    launch = python_program(source)
    hidden = run(sandboxed(launch, Sandbox()), cases=("matching-replay",))
    assert "FileNotFoundError" in hidden.stderr_tail
    needed = replace(launch, needed_folders=(str(tmp_path),))
    visible = run(sandboxed(needed, Sandbox()), cases=("matching-replay",))
    assert visible.stderr_tail == "seen"


def test_the_sandbox_dies_with_the_harness(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        "import os, time\nopen('started', 'w').close()\ndef reset(): time.sleep(1000)\n"
        "def step(operation): pass\n"
    )
    process = subprocess.Popen(
        [
            *(*RETRYPROOF, "run", "--sandbox", "bwrap", "--writable", ".", "--call-timeout", "600"),
            *("--python", sys.executable, str(adapter)),
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "started").exists, "the adapter's start")
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and _runs(name, adapter)]
    assert len(pids) >= 2
    process.kill()
    process.wait()
    wait_until_dead(pids)
    reap_inherited()


def _runs(pid: str, adapter: Path) -> bool:
    try:
        return str(adapter).encode() in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False


def test_options_of_the_sandbox_need_it() -> None:
    finished = retryproof("run", "--allow-network", REFERENCE)
    assert finished.returncode == 2
    assert "--allow-network and --writable go with --sandbox" in finished.stderr


def test_a_missing_bubblewrap_is_a_refusal_never_a_fallback(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    finished = retryproof(
        *("run", "--sandbox", "bwrap", "--python", sys.executable, REFERENCE),
        env={"PATH": str(tmp_path)},
    )
    assert finished.returncode == 2
    assert "bubblewrap is not installed" in finished.stderr
    assert finished.stdout == ""


def test_forbidden_namespaces_are_a_refusal_with_the_systems_reason(tmp_path: Path) -> None:
    reason = "bwrap: No permissions to create new namespace"
    stub = tmp_path / "bwrap"
    stub.write_text(f"#!{shutil.which('sh')}\necho '{reason}' >&2\nexit 1\n")
    stub.chmod(0o755)
    finished = retryproof(
        *("run", "--sandbox", "bwrap", "--python", sys.executable, REFERENCE),
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert finished.returncode == 2
    assert reason in finished.stderr

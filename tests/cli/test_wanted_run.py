"""What is submitted for an adapter: enough to start the same one anywhere on this machine."""

import sys
from pathlib import Path
from typing import Any

import pytest
from retryproof.api.submission import AdapterSubmission, SandboxSubmission
from retryproof.cli.wanted_run import adapter_submission, profile_submission
from retryproof.contract.profile import PROFILES, Profile, read_profile
from retryproof.supervise.launch import (
    Launch,
    Sandbox,
    Surroundings,
    http_service,
    module,
    program,
)
from retryproof.supervise.sandbox import sandboxed

from tests.driving import NODE_REFERENCE, REFERENCE
from tests.toolchains import needs, needs_node

INHERITED = {"PATH": "/bin", "LC_ALL": "C"}
SURROUNDINGS = Surroundings("/project", {"TOKEN": "s3cret"})
ADDED: dict[str, Any] = {"environment": {"TOKEN": "s3cret"}, "inherited": INHERITED}


def submitted(launch: Launch) -> AdapterSubmission:
    return adapter_submission(launch, INHERITED)


def test_a_program() -> None:
    launch = program(("java", "-jar", "a.jar"), SURROUNDINGS)
    assert submitted(launch) == AdapterSubmission(
        command=("java", "-jar", "a.jar"), cwd="/project", **ADDED
    )


def test_a_python_module_and_the_interpreter_that_was_found() -> None:
    launch = module(REFERENCE, SURROUNDINGS, sys.executable)
    assert submitted(launch) == AdapterSubmission(
        module=REFERENCE, python=sys.executable, cwd="/project", **ADDED
    )


def test_the_interpreter_is_that_of_the_callers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert submitted(module(REFERENCE, SURROUNDINGS)).python == str(python)


@needs_node
def test_a_javascript_module() -> None:
    launch = module(NODE_REFERENCE, SURROUNDINGS)
    assert submitted(launch) == AdapterSubmission(module=NODE_REFERENCE, cwd="/project", **ADDED)


def test_a_relative_module_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "adapter.py").touch()
    monkeypatch.chdir(tmp_path)
    launch = module("./adapter.py", SURROUNDINGS, sys.executable)
    assert submitted(launch).module == str(tmp_path / "adapter.py")


def test_an_http_service(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    launch = http_service(str(file), {"TOKEN": "s3cret"})
    assert submitted(launch) == AdapterSubmission(http=str(file), **ADDED)


@needs("bwrap")
def test_the_sandbox_and_what_it_allows(tmp_path: Path) -> None:
    bare = program(("true",), SURROUNDINGS)
    launch = sandboxed(bare, Sandbox(allow_network=True, writable=(str(tmp_path),)))
    assert submitted(launch) == AdapterSubmission(
        command=("true",),
        cwd="/project",
        sandbox=SandboxSubmission(allow_network=True, writable=(str(tmp_path),)),
        **ADDED,
    )


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_that_the_daemon_knows_is_named(name: str) -> None:
    assert profile_submission(PROFILES[name]) == name


def test_another_profile_is_sent_whole_as_its_file_has_it() -> None:
    profile = Profile("own.toml", (200, 201), "same", (422,), expires_at_deadline=False)
    sent = profile_submission(profile)
    assert isinstance(sent, dict)
    name = sent.pop("name")
    as_in_json = {
        key: list(value) if isinstance(value, tuple) else value for key, value in sent.items()
    }
    assert read_profile(name, as_in_json) == profile

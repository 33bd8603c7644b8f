"""The command line that means the same adapter again."""

from typing import Any

import pytest
from retryproof.cli.adapter_options import AdapterOptions
from retryproof.cli.chosen_adapter import kept_options, limits_of
from retryproof.supervise.limits import Limits

USUAL: dict[str, Any] = {
    "adapter": ("./adapter", "--port", "80"),
    "http": None,
    "call_timeout": 2.0,
    "startup_timeout": 30.0,
    "cwd": ".",
    "env": (),
    "pass_env": (),
    "python": None,
    "sandbox": None,
    "allow_network": False,
    "writable": (),
    "max_memory": 2048,
    "max_processes": 256,
    "max_output": 256,
    "max_open_files": 1024,
}


def options(**changes: Any) -> AdapterOptions:
    return AdapterOptions(**{**USUAL, **changes})


def test_the_usual_limits_are_those_of_a_session() -> None:
    assert limits_of(options()) == Limits()


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, ["--", "./adapter", "--port", "80"]),
        ({"adapter": ("a.py",)}, ["a.py"]),
        ({"adapter": ("a.py", "b")}, ["--", "a.py", "b"]),
        ({"adapter": (), "http": "service.toml"}, ["--http", "service.toml"]),
        ({"adapter": ("a.py",), "python": "/p"}, ["--python", "/p", "a.py"]),
        ({"adapter": ("a.mjs",), "env": ("KEY=secret",)}, ["--env", "KEY=...", "a.mjs"]),
        ({"adapter": ("a.mjs",), "pass_env": ("KEY",)}, ["--pass-env", "KEY", "a.mjs"]),
        (
            {"adapter": ("a.py",), "call_timeout": 0.5, "startup_timeout": 60.0, "cwd": "/srv"},
            ["--call-timeout", "0.5", "--startup-timeout", "60", "--cwd", "/srv", "a.py"],
        ),
        (
            {
                "adapter": ("a.py",),
                "sandbox": "bwrap",
                "allow_network": True,
                "writable": ("/a", "/b"),
            },
            [
                "--sandbox",
                "bwrap",
                "--allow-network",
                "--writable",
                "/a",
                "--writable",
                "/b",
                "a.py",
            ],
        ),
        (
            {
                "adapter": ("a.py",),
                "max_memory": 1,
                "max_processes": 2,
                "max_output": 3,
                "max_open_files": 9,
            },
            [
                *("--max-memory", "1", "--max-processes", "2"),
                *("--max-output", "3", "--max-open-files", "9", "a.py"),
            ],
        ),
    ],
)
def test_what_is_kept(changes: dict[str, Any], kept: list[str]) -> None:
    assert list(kept_options(options(**changes))) == kept

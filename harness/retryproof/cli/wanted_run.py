"""What the options of `submit` come to, as the daemon reads it."""

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from ..api.submission import (
    MAX_CLIENT_CHARACTERS,
    AdapterSubmission,
    LimitsSubmission,
    OnInterrupt,
    RunSubmission,
    SandboxSubmission,
)
from ..contract.profile import PROFILES, Profile
from ..supervise.launch import Launch, short_list
from .chosen_adapter import launch_of, limits_of
from .run_options import RunOptions


def wanted_run(options: RunOptions, on_interrupt: OnInterrupt) -> RunSubmission:
    """The run: everything that depends on where the command is called is resolved.

    Raises:
        FileError: there is no such file.
        InvalidArgumentsError: the options contradict each other, or a tool is missing.
    """
    return RunSubmission(
        adapter=adapter_submission(launch_of(options), short_list(os.environ)),
        suite=options.suite,
        cases=options.case,
        keep_going=options.keep_going,
        profile=profile_submission(options.profile),
        limits=LimitsSubmission(**asdict(limits_of(options))),
        on_interrupt=on_interrupt,
        client=os.getcwd()[-MAX_CLIENT_CHARACTERS:],
    )


def adapter_submission(launch: Launch, inherited: Mapping[str, str]) -> AdapterSubmission:
    """The same adapter, to be started by another process with these variables of the caller's."""
    argv, command = launch.shown_argv, launch.command
    chosen: dict[str, Any]
    match launch.host:
        case None:
            chosen = {"command": argv, "cwd": command.cwd}
        case "http":
            chosen = {"http": argv[-1]}
        case "python":
            chosen = {"module": argv[-1], "python": argv[0], "cwd": command.cwd}
        case _:
            chosen = {"module": argv[-1], "cwd": command.cwd}
    sandbox = launch.sandbox
    return AdapterSubmission(
        **chosen,
        environment={name: command.environment[name] for name in launch.added_environment},
        inherited=dict(inherited),
        sandbox=None if sandbox is None else SandboxSubmission(**asdict(sandbox)),
    )


def profile_submission(profile: Profile) -> str | dict[str, Any]:
    """The name of a dialect that the daemon knows, or all that there is to know of it."""
    return profile.name if profile.name in PROFILES else asdict(profile)

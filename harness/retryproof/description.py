"""What a report says of the machine and of how the adapter is started."""

import os
import platform
import sys

import msgspec

from .events import AdapterDescription, LimitsDescription, Load, SandboxDescription
from .supervise.launch import Launch, Sandbox
from .supervise.limits import Limits


def describe_adapter(launch: Launch) -> AdapterDescription:
    """How the adapter is started, in text that any report can hold."""
    return AdapterDescription(
        command=tuple(map(_as_text, launch.shown_argv)),
        host=launch.host,
        cwd=_as_text(launch.command.cwd),
        added_environment=launch.added_environment,
        sandbox=_describe_sandbox(launch.sandbox),
    )


def _describe_sandbox(sandbox: Sandbox | None) -> SandboxDescription | None:
    if sandbox is None:
        return None
    return SandboxDescription(sandbox.allow_network, tuple(map(_as_text, sandbox.writable)))


def measure_load() -> Load:
    """How busy the machine is now."""
    return Load(round(os.getloadavg()[0], 2), os.cpu_count() or 1)


def _as_text(argument: str) -> str:
    """An argument of a command line, whose bytes need not be text, as text."""
    return os.fsencode(argument).decode("utf-8", "backslashreplace")


def describe_platform() -> dict[str, str]:
    """What retryproof runs on."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def describe_limits(limits: Limits) -> LimitsDescription:
    """The bounds that are in force."""
    return msgspec.convert(limits, LimitsDescription, from_attributes=True)

"""The command that runs one case of a report once more."""

import shlex
from collections.abc import Iterator
from typing import Any

from ..contract.profile import PROFILES, SEED
from ..events import LimitsDescription, SandboxDescription
from .report import ReportedAdapter, RunReport

_MIB = 1024 * 1024


def repeat_command(report: RunReport[Any], case: str, usual: LimitsDescription) -> str:
    """The command line; limits are named where they are not the `usual` ones.

    It names bytes in whole MiB, rounded up.

    The values of added variables are not in a report, nor is a profile of one's own: they stand
    as three dots, to be filled in.
    """
    chosen = ["--suite", "retryfuse"] if report.contract.name == "retryfuse" else []
    if report.profile != SEED.name:
        known = report.profile in PROFILES
        chosen += ["--profile", report.profile if known else f"...{report.profile}"]
    arguments = [*chosen, "--case", case, *_limits(report.limits, usual), *_adapter(report.adapter)]
    return shlex.join(["retryproof", "run", *arguments])


def _limits(limits: LimitsDescription, usual: LimitsDescription) -> Iterator[str]:
    for option, value, usual_value in (
        ("--call-timeout", limits.call_seconds, usual.call_seconds),
        ("--startup-timeout", limits.startup_seconds, usual.startup_seconds),
        ("--max-memory", _mebibytes(limits.memory_bytes), _mebibytes(usual.memory_bytes)),
        ("--max-processes", limits.processes, usual.processes),
        ("--max-output", _mebibytes(limits.output_bytes), _mebibytes(usual.output_bytes)),
        ("--max-open-files", limits.open_files, usual.open_files),
    ):
        if value != usual_value:
            yield from (option, as_argument(value))


def as_argument(number: float) -> str:
    """The number as one writes it, with all its digits: 2, 0.25."""
    return str(number).removesuffix(".0")


def _mebibytes(size_bytes: int) -> int:
    return -(-size_bytes // _MIB)


def _adapter(adapter: ReportedAdapter) -> Iterator[str]:
    for name in adapter.added_environment:
        yield from ("--env", f"{name}=...")
    if adapter.sandbox is not None:
        yield from _sandbox(adapter.sandbox)
    if adapter.host == "http":
        yield from ("--http", adapter.command[-1])
        return
    yield from ("--cwd", adapter.cwd)
    if adapter.host == "python":
        yield from ("--python", adapter.command[0])
    yield from ("--", *adapter.command) if adapter.host is None else adapter.command[2:3]


def _sandbox(sandbox: SandboxDescription) -> Iterator[str]:
    yield from ("--sandbox", "bwrap")
    if sandbox.network:
        yield "--allow-network"
    for folder in sandbox.writable:
        yield from ("--writable", folder)

"""What the options of a command that starts an adapter come to."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import click
from retryproof_protocol.quoting import escape_controls

from ..errors import InvalidArgumentsError
from ..http_adapter.config import read_service
from ..reports.repeating import as_argument
from ..supervise.launch import (
    Launch,
    Sandbox,
    Surroundings,
    http_service,
    is_module,
    module,
    program,
)
from ..supervise.limits import Limits
from ..supervise.sandbox import sandboxed
from ..supervise.session import WireSink
from .adapter_options import MIB, AdapterOptions


def launch_of(options: AdapterOptions) -> Launch:
    """The adapter that was named, in its sandbox if it has one.

    Raises:
        FileError: there is no such file.
        InvalidArgumentsError: the options contradict each other, or a tool is missing.
    """
    launch = _bare_launch(options)
    if options.sandbox is None:
        if options.allow_network or options.writable:
            raise InvalidArgumentsError("--allow-network and --writable go with --sandbox.")
        return launch
    writable = tuple(str(Path(folder).resolve()) for folder in options.writable)
    return sandboxed(launch, Sandbox(options.allow_network, writable))


def limits_of(options: AdapterOptions) -> Limits:
    """What the adapter may use."""
    return Limits(
        startup_seconds=options.startup_timeout,
        call_seconds=options.call_timeout,
        memory_bytes=options.max_memory * MIB,
        processes=options.max_processes,
        output_bytes=options.max_output * MIB,
        open_files=options.max_open_files,
    )


def kept_options(options: AdapterOptions) -> Sequence[str]:
    """The command line that means the same adapter; without the values of its variables."""
    kept: list[str] = []
    if options.call_timeout != 2.0:
        kept += ["--call-timeout", as_argument(options.call_timeout)]
    if options.startup_timeout != 30.0:
        kept += ["--startup-timeout", as_argument(options.startup_timeout)]
    if options.cwd != ".":
        kept += ["--cwd", options.cwd]
    if options.python is not None:
        kept += ["--python", options.python]
    for assignment in options.env:
        # Values may be secrets, and reports are passed around.
        kept += ["--env", assignment.partition("=")[0] + "=..."]
    for name in options.pass_env:
        kept += ["--pass-env", name]
    kept += _kept_bounds(options)
    if options.http is not None:
        return [*kept, "--http", options.http]
    is_program = len(options.adapter) > 1 or not is_module(options.adapter[0])
    return [*kept, *(["--"] if is_program else []), *options.adapter]


def _kept_bounds(options: AdapterOptions) -> Iterator[str]:
    """The sandbox, and the limits that are not the usual ones."""
    if options.sandbox is not None:
        yield from ("--sandbox", options.sandbox)
    if options.allow_network:
        yield "--allow-network"
    for folder in options.writable:
        yield from ("--writable", folder)
    usual = Limits()
    for name, value, usual_value in (
        ("--max-memory", options.max_memory, usual.memory_bytes // MIB),
        ("--max-processes", options.max_processes, usual.processes),
        ("--max-output", options.max_output, usual.output_bytes // MIB),
        ("--max-open-files", options.max_open_files, usual.open_files),
    ):
        if value != usual_value:
            yield from (name, str(value))


def wire_printer() -> WireSink:
    """Prints each line of the conversation on stderr, with its seconds since now."""
    started = time.monotonic()

    def print_wire(direction: Literal["->", "<-"], data: bytes) -> None:
        elapsed = time.monotonic() - started
        for line in data.splitlines():
            text = escape_controls(line.decode("utf-8", "backslashreplace"))
            click.echo(f"{elapsed:8.3f} {direction} {text}", err=True)

    return print_wire


def _bare_launch(options: AdapterOptions) -> Launch:
    if options.http is not None:
        return _http_launch(options, options.http)
    if not options.adapter:
        raise click.UsageError(
            "Missing argument 'FILE | -- COMMAND [ARG...]', or --http SERVICE.toml.",
            click.get_current_context(),
        )
    surroundings = Surroundings(str(Path(options.cwd).absolute()), _added_environment(options))
    if len(options.adapter) == 1 and is_module(options.adapter[0]):
        return module(options.adapter[0], surroundings, options.python)
    if options.python is not None:
        raise InvalidArgumentsError("--python is for a single .py module adapter.")
    if "--" not in sys.argv and len(options.adapter) == 1 and Path(options.adapter[0]).exists():
        return module(options.adapter[0], surroundings)
    return program(options.adapter, surroundings)


def _http_launch(options: AdapterOptions, file: str) -> Launch:
    if options.adapter or options.python is not None or options.cwd != ".":
        raise InvalidArgumentsError(
            "--http goes with no adapter, no --python and no --cwd.",
            f"The commands of {file} run in its own folder.",
        )
    read_service(Path(file))
    return http_service(file, _added_environment(options))


def _added_environment(options: AdapterOptions) -> dict[str, str]:
    added = {}
    for name in options.pass_env:
        if name not in os.environ:
            raise InvalidArgumentsError(f"--pass-env {name}: there is no such variable here.")
        added[name] = os.environ[name]
    for assignment in options.env:
        name, separator, value = assignment.partition("=")
        if not separator or not name:
            raise InvalidArgumentsError(f"--env {assignment}: write NAME=VALUE.")
        added[name] = value
    return added

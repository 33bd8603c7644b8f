"""`retryproof run`."""

import math
import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
from msgspec import Struct
from retryproof_protocol.quoting import escape_controls

from .. import app
from ..errors import InvalidArgumentsError
from ..reports.text import render_report
from ..supervise.interruption import Interruptions
from ..supervise.launch import Launch, Sandbox, Surroundings, is_module, module, program
from ..supervise.limits import Limits
from ..supervise.sandbox import sandboxed
from ..supervise.session import WireSink
from .output import human_console, print_human, print_json
from .progress import Progress
from .report_files import ReportFile, ReportFileType, write_report

MAX_LIMIT_SECONDS = 3600.0
_DEFAULTS = Limits()
_MIB = 1024 * 1024


class Options(Struct, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    adapter: tuple[str, ...]
    case: tuple[str, ...]
    call_timeout: float
    startup_timeout: float
    keep_going: bool
    cwd: str
    env: tuple[str, ...]
    pass_env: tuple[str, ...]
    python: str | None
    report: tuple[ReportFile, ...]
    sandbox: str | None
    allow_network: bool
    writable: tuple[str, ...]
    max_memory: int
    max_processes: int
    max_output: int
    max_open_files: int
    as_json: bool
    verbose: bool


class Seconds(click.FloatRange):
    """A time limit. NaN, which compares with nothing, is none."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=MAX_LIMIT_SECONDS)

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        """A finite number of seconds in range."""
        seconds = float(super().convert(value, param, context))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, context)
        return seconds


@click.command(options_metavar="[OPTIONS]")
@click.argument("adapter", nargs=-1, required=True, metavar="FILE | -- COMMAND [ARG...]")
@click.option("--case", multiple=True, metavar="NAME", help="Run only this case. Repeatable.")
@click.option(
    "--call-timeout",
    type=Seconds(),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Each call's limit. Anything but 2 is a declared deviation.",
)
@click.option(
    "--startup-timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="The limit from launch to the answer to `initialize`.",
)
@click.option(
    "--keep-going", is_flag=True, help="After a broken call, go on in a fresh adapter process."
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="The adapter's folder. Default: this one.",
)
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Add a variable. Repeatable.")
@click.option("--pass-env", multiple=True, metavar="NAME", help="Pass one of yours. Repeatable.")
@click.option(
    "--python",
    metavar="PATH",
    help="The interpreter for a .py module. Default: the active virtual environment's, "
    "else python3 on the PATH.",
)
@click.option(
    "--report",
    type=ReportFileType(),
    multiple=True,
    help="Write a report to a file, such as json=report.json. Repeatable.",
)
@click.option(
    "--sandbox",
    type=click.Choice(["bwrap"]),
    help="Run the adapter in a sandbox: no network, nothing writable, no sight of others.",
)
@click.option("--allow-network", is_flag=True, help="Let the sandboxed adapter use the network.")
@click.option(
    "--writable",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="A folder that the sandboxed adapter may write in. Repeatable.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(min=1),
    default=_DEFAULTS.memory_bytes // _MIB,
    show_default=True,
    metavar="MIB",
    help="The memory of all its processes together.",
)
@click.option(
    "--max-processes",
    type=click.IntRange(min=1),
    default=_DEFAULTS.processes,
    show_default=True,
    metavar="N",
    help="How many processes it may have at a time.",
)
@click.option(
    "--max-output",
    type=click.IntRange(min=1),
    default=_DEFAULTS.output_bytes // _MIB,
    show_default=True,
    metavar="MIB",
    help="What it may write to stdout and stderr together.",
)
@click.option(
    "--max-open-files",
    type=click.IntRange(min=8),
    default=_DEFAULTS.open_files,
    show_default=True,
    metavar="N",
    help="How many files each of its processes may have open.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("-v", "--verbose", is_flag=True, help="The wire transcript on stderr, as it happens.")
def run(**values: object) -> int:
    """Drive an adapter through the suite and report what it does.

    FILE is an adapter module (.py, .mjs, .js, .cjs) with the functions reset and step; anything
    else is a program that speaks the adapter protocol, given after --. The adapter gets a short
    list of environment variables; --env and --pass-env add to it.

    \b
    Examples:
      retryproof run ./adapter.mjs
      retryproof run --case lost-create -- java -jar adapter.jar
    """
    return _run(Options(**values))  # type: ignore[arg-type]


def _run(options: Options) -> int:
    bundle = app.contract_bundle()
    request = app.RunRequest(
        launch=_launch(options),
        cases=options.case,
        limits=_limits(options),
        keep_going=options.keep_going,
    )
    console = human_console()
    shows_progress = console.is_terminal and not options.as_json and not options.verbose
    on_wire = _wire_printer() if options.verbose else None
    interruptions = Interruptions()
    interruptions.listen()
    with Progress(console) if shows_progress else nullcontext() as progress:
        sinks = () if progress is None else (progress,)
        report = app.drive(bundle, request, sinks, on_wire, interruptions.run)
    for file in options.report:
        write_report(file, report)
    if options.as_json:
        print_json(report)
    else:
        print_human(render_report(report, bundle, partial(_repeat_command, options)))
    return report.exit_status


def _limits(options: Options) -> Limits:
    return Limits(
        startup_seconds=options.startup_timeout,
        call_seconds=options.call_timeout,
        memory_bytes=options.max_memory * _MIB,
        processes=options.max_processes,
        output_bytes=options.max_output * _MIB,
        open_files=options.max_open_files,
    )


def _launch(options: Options) -> Launch:
    launch = _bare_launch(options)
    if options.sandbox is None:
        if options.allow_network or options.writable:
            raise InvalidArgumentsError("--allow-network and --writable go with --sandbox.")
        return launch
    writable = tuple(str(Path(folder).resolve()) for folder in options.writable)
    return sandboxed(launch, Sandbox(options.allow_network, writable))


def _bare_launch(options: Options) -> Launch:
    surroundings = Surroundings(str(Path(options.cwd).absolute()), _added_environment(options))
    if len(options.adapter) == 1 and is_module(options.adapter[0]):
        return module(options.adapter[0], surroundings, options.python)
    if options.python is not None:
        raise InvalidArgumentsError("--python is for a single .py module adapter.")
    if "--" not in sys.argv and len(options.adapter) == 1 and Path(options.adapter[0]).exists():
        return module(options.adapter[0], surroundings)
    return program(options.adapter, surroundings)


def _added_environment(options: Options) -> dict[str, str]:
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


def _wire_printer() -> WireSink:
    started = time.monotonic()

    def print_wire(direction: Literal["->", "<-"], data: bytes) -> None:
        elapsed = time.monotonic() - started
        for line in data.splitlines():
            text = escape_controls(line.decode("utf-8", "backslashreplace"))
            click.echo(f"{elapsed:8.3f} {direction} {text}", err=True)

    return print_wire


def _repeat_command(options: Options, case: str) -> str:
    return shlex.join(["retryproof", "run", "--case", case, *_kept_options(options)])


def _kept_options(options: Options) -> Sequence[str]:
    kept: list[str] = []
    if options.call_timeout != 2.0:
        kept += ["--call-timeout", f"{options.call_timeout:g}"]
    if options.startup_timeout != 30.0:
        kept += ["--startup-timeout", f"{options.startup_timeout:g}"]
    if options.cwd != ".":
        kept += ["--cwd", options.cwd]
    if options.python is not None:
        kept += ["--python", options.python]
    for assignment in options.env:
        # Values may be secrets, and reports are passed around.
        kept += ["--env", assignment.partition("=")[0] + "=..."]
    for name in options.pass_env:
        kept += ["--pass-env", name]
    is_program = len(options.adapter) > 1 or not is_module(options.adapter[0])
    return [*kept, *(["--"] if is_program else []), *options.adapter]

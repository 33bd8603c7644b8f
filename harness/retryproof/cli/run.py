"""`retryproof run`."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import click
from msgspec import Struct
from rich.console import RenderableType

from .. import app
from ..contract.profile import SEED, Profile
from ..errors import InvalidArgumentsError
from ..reports.fuse_suite_text import render_fuse_report
from ..reports.report import RunReport
from ..reports.text import render_report
from ..supervise.interruption import Interruptions
from .adapter_options import AdapterOptions, adapter_options
from .chosen_adapter import kept_options, launch_of, limits_of, wire_printer
from .output import human_console, print_human, print_json
from .profile import ProfileType
from .progress import Progress
from .report_files import ReportFile, ReportFileType, write_report


class Options(AdapterOptions, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    suite: str
    case: tuple[str, ...]
    keep_going: bool
    report: tuple[ReportFile, ...]
    profile: Profile
    as_json: bool
    verbose: bool


@click.command(options_metavar="[OPTIONS]")
@adapter_options
@click.option(
    "--suite",
    type=click.Choice(["retry", "retryfuse"]),
    default="retry",
    show_default=True,
    help="The retry contract, or the decision whether to retry: the adapter answers `evaluate`.",
)
@click.option("--case", multiple=True, metavar="NAME", help="Run only this case. Repeatable.")
@click.option(
    "--keep-going", is_flag=True, help="After a broken call, go on in a fresh adapter process."
)
@click.option(
    "--report",
    type=ReportFileType(),
    multiple=True,
    help="Write a report to a file, such as json=report.json. Repeatable.",
)
@click.option(
    "--profile",
    type=ProfileType(),
    default=SEED.name,
    show_default=True,
    help="A declared dialect: seed, ietf, stripe, or a TOML file (create, replay, conflict, "
    "expires_at_deadline).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("-v", "--verbose", is_flag=True, help="The wire transcript on stderr, as it happens.")
def run(**values: object) -> int:
    """Drive an adapter through the suite and report what it does.

    FILE is an adapter module (.py, .mjs, .js, .cjs) with the functions reset and step, or with
    evaluate for the suite retryfuse; anything else is a program that speaks the adapter protocol,
    given after --. The adapter gets a short list of environment variables; --env and --pass-env
    add to it.

    \b
    Examples:
      retryproof run ./adapter.mjs
      retryproof run --case lost-create -- java -jar adapter.jar
      retryproof run --http service.toml
      retryproof run --suite retryfuse ./fuse.py
    """
    return _run(Options(**values))  # type: ignore[arg-type]


class _Suite(Struct, frozen=True):
    """How a suite is driven, and how its report is told."""

    drive: Callable[..., RunReport[Any]]
    render: Callable[..., Iterator[RenderableType]]


def _suite_of(options: Options) -> _Suite:
    if options.suite == "retry":
        bundle = app.contract_bundle()
        return _Suite(partial(app.drive, bundle), partial(render_report, bundle=bundle))
    if options.http is not None or options.profile != SEED:
        raise InvalidArgumentsError("--http and --profile are for the suite retry.")
    return _Suite(partial(app.drive_fuse, app.fuse_matrix()), render_fuse_report)


def _run(options: Options) -> int:
    suite = _suite_of(options)
    request = app.RunRequest(
        launch=launch_of(options),
        cases=options.case,
        limits=limits_of(options),
        keep_going=options.keep_going,
        profile=options.profile,
    )
    console = human_console()
    shows_progress = console.is_terminal and not options.as_json and not options.verbose
    on_wire = wire_printer() if options.verbose else None
    interruptions = Interruptions()
    interruptions.listen()
    with Progress(console) if shows_progress else nullcontext() as progress:
        sinks = () if progress is None else (progress,)
        report = suite.drive(request, sinks, on_wire, interruptions.run)
    for file in options.report:
        write_report(file, report)
    if options.as_json:
        print_json(report)
    else:
        repeat_command = partial(_repeat_command, options)
        print_human(suite.render(report, repeat_command=repeat_command))
    interruptions.finish()
    return report.exit_status


def _repeat_command(options: Options, case: str) -> str:
    chosen = [] if options.suite == "retry" else ["--suite", options.suite]
    chosen += [] if options.profile == SEED else ["--profile", options.profile.name]
    return shlex.join(["retryproof", "run", *chosen, "--case", case, *kept_options(options)])

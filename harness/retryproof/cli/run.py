"""`retryproof run`."""

import shlex
from contextlib import nullcontext
from functools import partial

import click

from .. import app
from ..reports.text import render_report
from ..supervise.interruption import Interruptions
from .adapter_options import AdapterOptions, adapter_options
from .chosen_adapter import kept_options, launch_of, limits_of, wire_printer
from .output import human_console, print_human, print_json
from .progress import Progress
from .report_files import ReportFile, ReportFileType, write_report


class Options(AdapterOptions, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    case: tuple[str, ...]
    keep_going: bool
    report: tuple[ReportFile, ...]
    as_json: bool
    verbose: bool


@click.command(options_metavar="[OPTIONS]")
@adapter_options
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
      retryproof run --http service.toml
    """
    return _run(Options(**values))  # type: ignore[arg-type]


def _run(options: Options) -> int:
    bundle = app.contract_bundle()
    request = app.RunRequest(
        launch=launch_of(options),
        cases=options.case,
        limits=limits_of(options),
        keep_going=options.keep_going,
    )
    console = human_console()
    shows_progress = console.is_terminal and not options.as_json and not options.verbose
    on_wire = wire_printer() if options.verbose else None
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
    interruptions.finish()
    return report.exit_status


def _repeat_command(options: Options, case: str) -> str:
    return shlex.join(["retryproof", "run", "--case", case, *kept_options(options)])

"""`retryproof run`."""

from contextlib import nullcontext
from typing import Any

import click

from .. import app
from ..reports.report import RunReport
from ..supervise.interruption import Interruptions
from .chosen_adapter import launch_of, limits_of, wire_printer
from .output import human_console
from .progress import Progress
from .run_options import RunOptions, run_options, suite_of, tell_report


class Options(RunOptions, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    verbose: bool


@click.command(options_metavar="[OPTIONS]")
@run_options
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


def _run(options: Options) -> int:
    suite = suite_of(options)
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
        report: RunReport[Any] = app.drive_suite(suite, request, sinks, on_wire, interruptions.run)
    tell_report(options, suite, report)
    interruptions.finish()
    return report.exit_status

"""`retryproof doctor`."""

import shlex
from contextlib import nullcontext

import click
from rich.status import Status

from .. import app
from ..reports.doctor_text import render_doctor
from ..supervise.interruption import Interruptions
from .adapter_options import AdapterOptions, adapter_options
from .chosen_adapter import kept_options, launch_of, limits_of, wire_printer
from .output import human_console, print_human, print_json


class Options(AdapterOptions, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    as_json: bool
    verbose: bool


@click.command(options_metavar="[OPTIONS]")
@adapter_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("-v", "--verbose", is_flag=True, help="The wire transcript on stderr, as it happens.")
def doctor(**values: object) -> int:
    """Find out what is wrong with an adapter, and how to mend it.

    Starts the adapter a few times and talks to it as a run would, but looks closer: does it
    start, answer in form, flush, start clean after `reset`, leave when it should, and keep
    inside the time limits? A slow call is waited for three times as long as a run allows, so
    that it can be measured. What the service behind it does is for `retryproof run` to tell.

    \b
    Examples:
      retryproof doctor adapter.py
      retryproof doctor -- java -jar adapter.jar
      retryproof doctor --http service.toml
    """
    return _examine(Options(**values))  # type: ignore[arg-type]


def _examine(options: Options) -> int:
    launch = launch_of(options)
    limits = limits_of(options)
    console = human_console()
    shows_progress = console.is_terminal and not options.as_json and not options.verbose
    on_wire = wire_printer() if options.verbose else None
    interruptions = Interruptions()
    interruptions.listen()
    with Status("", console=console) if shows_progress else nullcontext() as status:
        tell = None if status is None else lambda what: status.update(f"waiting for {what}")
        report = app.examine(
            app.contract_bundle(), launch, limits, interruptions.run, tell, on_wire
        )
    if options.as_json:
        print_json(report)
    else:
        run_command = shlex.join(["retryproof", "run", *kept_options(options)])
        print_human(render_doctor(report, run_command))
    interruptions.finish()
    return report.exit_status

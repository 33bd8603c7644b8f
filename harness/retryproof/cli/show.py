"""`retryproof show`."""

import click

from .. import app
from ..client.connection import Daemon
from ..client.run_reports import report_of
from ..client.run_views import describe_state
from ..errors import EXIT_FAILED
from ..reports.formats import FORMATS, ReportFormat
from .daemon_options import places_of, socket_option, watch
from .output import print_human, print_json


@click.command()
@click.argument("run", metavar="ID")
@click.option(
    "--format",
    "report_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="The report's format.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@socket_option
def show(run: str, report_format: ReportFormat, as_json: bool, socket: str | None) -> int:
    """Show the report of one of the daemon's runs.

    It is the report that `retryproof run` would have printed, and so is the exit status. A run
    that has no report, or none yet, ends with 1: its state is printed, or with --json what is
    known of it, in which "report" is null.

    \b
    Examples:
      retryproof show 2f1d0a9be4c87a55
      retryproof show 2f1d0a9be4c87a55 --json
    """
    as_json = as_json or report_format == "json"
    with Daemon(places_of(socket).socket) as daemon:
        found = daemon.run(run)
    report = report_of(found)
    if report is None:
        if as_json:
            print_json(found)
        else:
            print_human(describe_state(found, watch()))
        return EXIT_FAILED
    if as_json:
        print_json(report)
    else:
        print_human(app.render_by_itself(found.suite, report))
    return report.exit_status

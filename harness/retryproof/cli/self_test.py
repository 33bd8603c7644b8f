"""`retryproof self-test`."""

import click

from .. import app
from ..reports.exit_status import exit_status_of
from ..reports.self_test import render_self_test
from ..supervise.interruption import Interruptions
from .output import print_human, print_json


@click.command("self-test")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def self_test(as_json: bool) -> int:
    """Does this installation work?

    Drives the bundled reference and each of the four known faults as adapter processes over the
    protocol, under each bundled host whose language is installed. It says nothing about any
    other implementation.

    \b
    Example:
      retryproof self-test
    """
    interruptions = Interruptions()
    interruptions.listen()
    report = app.self_test(app.contract_bundle(), interruptions.run)
    if as_json:
        print_json(report)
    else:
        print_human(render_self_test(report))
    interruptions.finish()
    return exit_status_of(report.verdict == "pass", interruptions.first)

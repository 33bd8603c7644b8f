"""`retryproof check`."""

import click

from .. import app
from ..contract.check import check as check_submission
from ..reports.comparison_text import render_check
from ..reports.exit_status import exit_status_of
from .inputs import read_named_submission
from .output import print_human, print_json


@click.command()
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(file: str, as_json: bool) -> int:
    """Check a counterexample artifact, or its submission wrapper.

    FILE is read as it would be sent; - reads standard input. It is accepted if the reference
    model and the named fault differ in at least one operation. No adapter runs.

    \b
    Example:
      retryproof example | retryproof check -
    """
    bundle = app.contract_bundle()
    report = check_submission(read_named_submission(file, bundle), bundle.not_covered)
    if as_json:
        print_json(report)
    else:
        print_human(render_check(report))
    return exit_status_of(report.accepted)

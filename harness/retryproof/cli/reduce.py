"""`retryproof reduce`."""

import click

from .. import app
from ..contract.reduce import reduce as reduce_submission
from ..reports.comparison_text import render_reduce
from ..reports.exit_status import exit_status_of
from .inputs import read_named_submission
from .output import print_human, print_json


@click.command()
@click.argument("file")
@click.option("--all", "follow_all", is_flag=True, help="Follow every reduction to its end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def reduce(file: str, follow_all: bool, as_json: bool) -> int:
    """Find the one-step reductions of an accepted artifact.

    Each is the artifact without one operation that is still accepted. With --all, they are
    followed to every deletion-minimal artifact: minimal under this rule, which does not prove
    it the shortest. FILE may be - for standard input.

    \b
    Example:
      retryproof example | retryproof reduce --all -
    """
    bundle = app.contract_bundle()
    submission = read_named_submission(file, bundle)
    report = reduce_submission(submission, bundle.not_covered, follow_all)
    if as_json:
        print_json(report)
    else:
        print_human(render_reduce(report))
    return exit_status_of(report.accepted)

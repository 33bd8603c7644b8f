"""`retryproof compare`."""

import click

from .. import app
from ..contract.compare import compare as compare_submissions
from ..errors import InvalidArgumentsError
from ..reports.comparison_text import render_compare
from ..reports.exit_status import exit_status_of
from .inputs import read_named_submission
from .output import print_human, print_json


@click.command()
@click.argument("parent")
@click.argument("candidate")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare(parent: str, candidate: str, as_json: bool) -> int:
    """Is CANDIDATE a strict ordered reduction of PARENT?

    It is, if it has the same target and its operations are some of the parent's, not all of
    them, in the parent's order and equal in every field.

    \b
    Example:
      retryproof compare parent.json shorter.json
    """
    if parent == candidate == "-":
        raise InvalidArgumentsError("Standard input can be only one of the two files.")
    bundle = app.contract_bundle()
    report = compare_submissions(
        read_named_submission(parent, bundle),
        read_named_submission(candidate, bundle),
        bundle.not_covered,
    )
    if as_json:
        print_json(report)
    else:
        print_human(render_compare(report))
    return exit_status_of(report.strict_ordered_reduction)

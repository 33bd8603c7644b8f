"""`retryproof fixtures`."""

import click

from .. import app, resources
from ..errors import EXIT_PASS
from .output import print_bytes, print_json


@click.command()
@click.option(
    "--suite",
    type=click.Choice(["retry", "retryfuse"]),
    default="retry",
    show_default=True,
    help="The retry contract, or the matrix of the decision whether to retry.",
)
def fixtures(suite: str) -> int:
    """Print a contract as one JSON document: cases and what they expect, faults, digest.

    \b
    Examples:
      retryproof fixtures > contract.json
      retryproof fixtures --suite retryfuse > matrix.json
    """
    if suite == "retryfuse":
        print_json(app.fuse_matrix().document)
    else:
        print_bytes(resources.read_bytes(app.CONTRACT_FILE))
    return EXIT_PASS

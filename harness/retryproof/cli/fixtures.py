"""`retryproof fixtures`."""

import click

from .. import app, resources
from ..errors import EXIT_PASS
from .output import print_bytes


@click.command()
def fixtures() -> int:
    """Print the contract bundle: cases with their expected traces, rules, faults, digest.

    \b
    Example:
      retryproof fixtures > contract.json
    """
    print_bytes(resources.read_bytes(app.CONTRACT_FILE))
    return EXIT_PASS

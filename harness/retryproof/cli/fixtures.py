"""`retryproof fixtures`."""

import click

from .. import app, resources
from ..errors import EXIT_PASS


@click.command()
def fixtures() -> int:
    """Print the contract bundle: cases with their expected traces, rules, faults, digest.

    \b
    Example:
      retryproof fixtures > contract.json
    """
    click.echo(resources.read_bytes(app.CONTRACT_FILE), nl=False)
    return EXIT_PASS

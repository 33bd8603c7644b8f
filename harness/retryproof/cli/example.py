"""`retryproof example`."""

import click

from .. import app, resources
from ..errors import EXIT_PASS
from .output import print_bytes


@click.command()
def example() -> int:
    """Print the authored starting fixture, ready for check and reduce.

    It was written for this project and deliberately holds unrelated work around a lost answer
    and its retry: nobody's service was observed to do this.

    \b
    Example:
      retryproof example > counterexample.json
      retryproof reduce counterexample.json
    """
    print_bytes(resources.read_bytes(app.SEED_FILE))
    return EXIT_PASS

"""`retryproof cancel`."""

import click

from ..client.connection import Daemon
from ..client.run_views import describe_cancelled
from ..errors import EXIT_FAILED, EXIT_PASS
from .daemon_options import places_of, socket_option
from .output import print_human

_TOO_LATE = ("finished", "interrupted")


@click.command()
@click.argument("run", metavar="ID")
@socket_option
def cancel(run: str, socket: str | None) -> int:
    """Cancel one of the daemon's runs.

    A queued run never begins; the adapter of a running one is killed with its whole process
    tree, and what was observed until then is reported. The exit status is 1 if it was too late.

    \b
    Example:
      retryproof cancel 2f1d0a9be4c87a55
    """
    with Daemon(places_of(socket).socket) as daemon:
        view = daemon.cancel(run)
    print_human(describe_cancelled(view))
    return EXIT_FAILED if view.state in _TOO_LATE else EXIT_PASS

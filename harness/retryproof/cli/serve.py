"""`retryproof serve`."""

import logging
import os

import click

from ..errors import EXIT_PASS
from .daemon_options import places_of, socket_option, state_option
from .output import telling

MAX_JOBS = 256


@click.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Listen on loopback TCP as well, such as 127.0.0.1:8080; calls need the bearer token.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=MAX_JOBS),
    metavar="N",
    help="How many adapters to drive at a time. Default: one for each processor.",
)
@socket_option
@state_option
def serve(listen: str | None, jobs: int | None, socket: str | None, state: str | None) -> int:
    """Run the daemon, which takes runs from many clients and loses none.

    It drives a bounded number of adapters at a time, keeps every result, and shows them; submit,
    runs, show, logs, cancel and status are its clients. RETRYPROOF_SOCKET and RETRYPROOF_STATE
    name its socket and its folder as the options do. It runs until Ctrl-C or SIGTERM.

    \b
    Example:
      retryproof serve --jobs 4
    """
    # Nobody else needs uvicorn and what comes with it.
    from ..daemon.server import ServeOptions, serve

    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", level=logging.WARNING)
    options = ServeOptions(
        places=places_of(socket, state),
        listen=listen,
        jobs=jobs or os.cpu_count() or 1,
    )
    serve(options, _tell)
    return EXIT_PASS


def _tell(line: str) -> None:
    with telling():
        click.echo(line)

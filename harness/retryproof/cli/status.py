"""`retryproof status`."""

import click
from msgspec import Struct

from ..api.views import DaemonStatus
from ..client.connection import Daemon
from ..client.run_views import render_status
from ..client.submission_files import SubmissionFiles
from ..client.submitting import Unfinished
from ..errors import EXIT_FAILED, EXIT_PASS, RetryproofError
from .daemon_options import places_of, socket_option, state_option, watch
from .output import complain, print_human, print_json


class Status(Struct, frozen=True, rename="camel"):
    """What `--json` prints; `daemon` is null if none answers, and `problem` says why."""

    socket: str
    daemon: DaemonStatus | None
    problem: str | None
    unfinished_submissions: tuple[Unfinished, ...]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@socket_option
@state_option
def status(as_json: bool, socket: str | None, state: str | None) -> int:
    """Does the daemon answer, and what is it doing?

    Also lists submissions whose answer never came, with the way to find out what became of
    them. The exit status is 0 if the daemon takes runs, else 1.

    \b
    Example:
      retryproof status
    """
    places = places_of(socket, state)
    found: DaemonStatus | None = None
    problem: RetryproofError | None = None
    with Daemon(places.socket) as daemon:
        try:
            found = daemon.status()
        except RetryproofError as error:
            problem = error
    unfinished = SubmissionFiles(places.state).unfinished()
    if as_json:
        message = found.problem if problem is None and found is not None else str(problem)
        print_json(Status(str(places.socket), found, message, tuple(unfinished)))
    else:
        print_human(render_status(str(places.socket), found, unfinished, watch()))
        if problem is not None:
            complain(problem.message, problem.advice)
    return EXIT_PASS if found is not None and found.ready else EXIT_FAILED

"""`retryproof runs`."""

import click

from ..api.submission import SuiteName
from ..api.views import RunState
from ..client.connection import Daemon, RunQuery
from ..client.run_views import render_page
from ..errors import EXIT_PASS
from ..reports.report import Verdict
from .daemon_options import places_of, socket_option, watch
from .output import human_console, print_human, print_json

MAX_PAGE = 200


@click.command()
@click.option(
    "--state",
    multiple=True,
    type=click.Choice(["queued", "running", "finished", "cancelled", "interrupted"]),
    help="Only runs in this state. Repeatable.",
)
@click.option(
    "--verdict",
    type=click.Choice(["pass", "fail", "incomplete"]),
    help="Only runs with this verdict.",
)
@click.option("--suite", type=click.Choice(["retry", "retryfuse"]), help="Only runs of this suite.")
@click.option("--client", metavar="FOLDER", help="Only runs submitted from this folder.")
@click.option("--key", help="Only the run submitted under this Idempotency-Key.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_PAGE),
    default=50,
    show_default=True,
    metavar="N",
    help="At most so many.",
)
@click.option("--cursor", help="Go on where the last list ended, which named this.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@socket_option
def runs(
    state: tuple[RunState, ...],
    verdict: Verdict | None,
    suite: SuiteName | None,
    client: str | None,
    key: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    socket: str | None,
) -> int:
    """List the daemon's runs, the newest first.

    \b
    Examples:
      retryproof runs
      retryproof runs --state queued --state running
      retryproof runs --verdict fail --client "$PWD" --json
    """
    query = RunQuery(state, verdict, suite, client, key, limit, cursor)
    with Daemon(places_of(socket).socket) as daemon:
        page = daemon.page(query)
    if as_json:
        print_json(page)
    else:
        console = human_console()
        print_human(render_page(page, watch(), console.width if console.is_terminal else None))
    return EXIT_PASS

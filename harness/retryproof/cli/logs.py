"""`retryproof logs`."""

import click

from ..api.views import RunView
from ..client.connection import Daemon
from ..client.following import Streamed, follow, look_back
from ..client.patience import Patience
from ..client.run_views import describe_end
from ..errors import EXIT_FAILED, EXIT_PASS
from ..reports.event_text import render_event
from .daemon_options import places_of, socket_option
from .output import print_bytes, print_human


@click.command()
@click.argument("run", metavar="ID")
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on until the run is over.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON.")
@socket_option
def logs(run: str, follows: bool, as_json: bool, socket: str | None) -> int:
    """Show what happens in one of the daemon's runs, with seconds since it started.

    With -f it goes on to the end, also if the daemon is restarted meanwhile, and the exit status
    is the run's.

    \b
    Examples:
      retryproof logs 2f1d0a9be4c87a55
      retryproof logs -f 2f1d0a9be4c87a55
      retryproof logs --json 2f1d0a9be4c87a55 | jq .type
    """
    ended: RunView | None = None
    with Daemon(places_of(socket).socket) as daemon:
        # Only a daemon that was there is waited for.
        daemon.status()
        happenings = follow(daemon, run, Patience()) if follows else look_back(daemon, run)
        for happened in happenings:
            if isinstance(happened, RunView):
                ended = happened
            else:
                _print(happened, as_json)
    if ended is not None and not as_json:
        print_human([describe_end(ended)])
    if not follows:
        return EXIT_PASS
    return EXIT_FAILED if ended is None or ended.exit_status is None else ended.exit_status


def _print(happened: Streamed, as_json: bool) -> None:
    if as_json:
        print_bytes(happened.content.encode() + b"\n")
    else:
        print_human(render_event(happened.event))

"""`retryproof submit`."""

from contextlib import nullcontext
from typing import Any

import click

from ..api.submission import OnInterrupt
from ..api.views import RunView
from ..client.connection import Daemon
from ..client.following import follow
from ..client.patience import Patience
from ..client.run_reports import report_of
from ..client.run_views import describe_state, describe_submitted
from ..client.sending import Sender, Submission
from ..client.submission_files import SubmissionFiles
from ..errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_PASS,
    EXIT_TERMINATED,
    InvalidArgumentsError,
)
from ..suites import Suite
from ..supervise.interruption import Termination, raise_terminations
from .daemon_options import places_of, socket_option, state_option, watch
from .output import complain, human_console, print_human, print_json
from .progress import Progress
from .run_options import RunOptions, run_options, suite_of, tell_report
from .wanted_run import wanted_run


class Options(RunOptions, frozen=True, kw_only=True):
    """What the user asked for, as click hands it over."""

    wait: bool
    on_interrupt: OnInterrupt
    socket: str | None
    state: str | None


@click.command(options_metavar="[OPTIONS]")
@run_options
@click.option("--wait", is_flag=True, help="Wait for the end, and report it as `run` does.")
@click.option(
    "--on-interrupt",
    type=click.Choice(["end", "rerun"]),
    default="end",
    show_default=True,
    help="If the daemon dies in the middle of the run: it ends as interrupted, or runs again.",
)
@socket_option
@state_option
def submit(**values: object) -> int:
    """Have the daemon drive an adapter through the suite.

    FILE and the options are those of `retryproof run`, with the same report and exit status if
    you --wait. Otherwise the run's id is printed, or with --json all that is known of it. A run
    is submitted once, even if the connection is lost before the daemon has answered: its
    Idempotency-Key is kept in the state folder until the answer is in.

    \b
    Examples:
      retryproof submit ./adapter.mjs
      retryproof submit --wait --report json=report.json ./adapter.py
      retryproof submit --on-interrupt rerun --http service.toml
    """
    return _submit(Options(**values))  # type: ignore[arg-type]


def _submit(options: Options) -> int:
    if options.report and not options.wait:
        raise InvalidArgumentsError(
            "--report goes with --wait: there is no report yet when a run is submitted.",
            "`retryproof show ID --json` prints it once the run is over.",
        )
    suite = suite_of(options)
    suite.scripts(options.case, options.profile)
    places = places_of(options.socket, options.state)
    submission = Submission(wanted_run(options, options.on_interrupt), places.socket)
    raise_terminations()
    with Daemon(places.socket) as daemon:
        sender = Sender(daemon, SubmissionFiles(places.state), complain)
        try:
            run = sender.send(submission)
        except KeyboardInterrupt as interruption:
            complain(
                "Interrupted before the daemon's answer was in.",
                f"Whether the run was submitted: retryproof runs --key {submission.record.key}",
            )
            return _status_of(interruption)
        if options.wait:
            return _wait(options, suite, daemon, run.id)
    if options.as_json:
        print_json(run)
    else:
        print_human(describe_submitted(run))
    return EXIT_PASS


def _wait(options: Options, suite: Suite[Any], daemon: Daemon, run: str) -> int:
    try:
        _follow(options, daemon, run)
        ended = Patience().insist(lambda: daemon.run(run))
    except KeyboardInterrupt as interruption:
        complain(
            f"Interrupted; the run {run} goes on.",
            f"Cancel it: retryproof cancel {run}. Follow it: retryproof logs -f {run}",
        )
        return _status_of(interruption)
    report = report_of(ended)
    if report is None:
        (line,) = describe_state(ended, watch())
        complain(line.plain)
        return EXIT_FAILED
    tell_report(options, suite, report)
    return report.exit_status


def _follow(options: Options, daemon: Daemon, run: str) -> None:
    console = human_console()
    shows_progress = console.is_terminal and not options.as_json
    with Progress(console, "queued") if shows_progress else nullcontext() as progress:
        for happened in follow(daemon, run, Patience()):
            if progress is not None and not isinstance(happened, RunView):
                progress(happened.event)


def _status_of(interruption: KeyboardInterrupt) -> int:
    return EXIT_TERMINATED if isinstance(interruption, Termination) else EXIT_INTERRUPTED

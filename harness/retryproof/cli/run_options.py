"""The options of every command that has an adapter driven through a suite."""

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from .. import app
from ..api.submission import SuiteName
from ..contract.profile import SEED, Profile
from ..errors import InvalidArgumentsError
from ..reports.report import RunReport
from ..suites import Suite
from .adapter_options import AdapterOptions, adapter_options
from .chosen_adapter import kept_options
from .output import print_human, print_json
from .profile import ProfileType
from .report_files import ReportFile, ReportFileType, write_report

_Command = TypeVar("_Command", bound=Callable[..., Any])


class RunOptions(AdapterOptions, frozen=True, kw_only=True):
    """What the user wants to have driven, as click hands it over."""

    suite: SuiteName
    case: tuple[str, ...]
    keep_going: bool
    report: tuple[ReportFile, ...]
    profile: Profile
    as_json: bool


_OPTIONS = (
    adapter_options,
    click.option(
        "--suite",
        type=click.Choice(["retry", "retryfuse"]),
        default="retry",
        show_default=True,
        help="The retry contract, or the decision whether to retry: the adapter answers "
        "`evaluate`.",
    ),
    click.option("--case", multiple=True, metavar="NAME", help="Run only this case. Repeatable."),
    click.option(
        "--keep-going", is_flag=True, help="After a broken call, go on in a fresh adapter process."
    ),
    click.option(
        "--report",
        type=ReportFileType(),
        multiple=True,
        help="Write a report to a file, such as json=report.json. Repeatable.",
    ),
    click.option(
        "--profile",
        type=ProfileType(),
        default=SEED.name,
        show_default=True,
        help="A declared dialect: seed, ietf, stripe, or a TOML file (create, replay, conflict, "
        "expires_at_deadline).",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document."),
)


def run_options(command: _Command) -> _Command:
    """Gives a command the argument and the options that `RunOptions` holds."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def suite_of(options: RunOptions) -> Suite[Any]:
    """The suite that was asked for.

    Raises:
        InvalidArgumentsError: options are given that it has no use for.
    """
    if options.suite != "retry" and (options.http is not None or options.profile != SEED):
        raise InvalidArgumentsError("--http and --profile are for the suite retry.")
    return app.suite_named(options.suite)


def tell_report(options: RunOptions, suite: Suite[Any], report: RunReport[Any]) -> None:
    """Writes the report into the files that were asked for, and prints it.

    Raises:
        FileError: one can't be written.
    """
    for file in options.report:
        write_report(file, report)
    if options.as_json:
        print_json(report)
    else:
        print_human(suite.render(report, partial(_repeat_command, options)))


def _repeat_command(options: RunOptions, case: str) -> str:
    chosen = [] if options.suite == "retry" else ["--suite", options.suite]
    chosen += [] if options.profile == SEED else ["--profile", options.profile.name]
    return shlex.join(["retryproof", "run", *chosen, "--case", case, *kept_options(options)])

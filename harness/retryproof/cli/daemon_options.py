"""The options that say where the daemon is."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from ..client.run_views import Watch
from ..places import Places, default_places

_Command = TypeVar("_Command", bound=Callable[..., Any])


def socket_option(command: _Command) -> _Command:
    """Gives a command the option --socket."""
    return click.option(
        "--socket",
        type=click.Path(),
        metavar="PATH",
        help="The daemon's socket. Default: $RETRYPROOF_SOCKET, else in your runtime folder.",
    )(command)


def state_option(command: _Command) -> _Command:
    """Gives a command the option --state."""
    return click.option(
        "--state",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="The state folder. Default: $RETRYPROOF_STATE, else your own.",
    )(command)


def places_of(socket: str | None, state: str | None = None) -> Places:
    """Where the daemon and its state are.

    Raises:
        InvalidArgumentsError: the socket's path is too long, or there is no default.
    """
    return default_places(os.environ, socket, state)


def watch() -> Watch:
    """The time and the zone of this machine."""
    return Watch(datetime.now(UTC))

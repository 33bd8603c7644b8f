"""The options of every command that starts an adapter."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click
from msgspec import Struct

from ..api.submission import MAX_LIMIT_SECONDS
from ..supervise.limits import Limits

MIB = 1024 * 1024
_DEFAULTS = Limits()

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Seconds(click.FloatRange):
    """A time limit. NaN, which compares with nothing, is none."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=MAX_LIMIT_SECONDS)

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        """A finite number of seconds in range."""
        seconds = float(super().convert(value, param, context))
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, context)
        return seconds


class AdapterOptions(Struct, frozen=True, kw_only=True):
    """Which adapter is meant, and what it may use, as click hands it over."""

    adapter: tuple[str, ...]
    http: str | None
    call_timeout: float
    startup_timeout: float
    cwd: str
    env: tuple[str, ...]
    pass_env: tuple[str, ...]
    python: str | None
    sandbox: str | None
    allow_network: bool
    writable: tuple[str, ...]
    max_memory: int
    max_processes: int
    max_output: int
    max_open_files: int


_OPTIONS = (
    click.argument("adapter", nargs=-1, metavar="FILE | -- COMMAND [ARG...]"),
    click.option(
        "--http",
        type=click.Path(exists=True, dir_okay=False),
        metavar="SERVICE.toml",
        help="Drive an HTTP service as this file says; there is no adapter to write.",
    ),
    click.option(
        "--call-timeout",
        type=Seconds(),
        default=2.0,
        show_default=True,
        metavar="SECONDS",
        help="Each call's limit. Anything but 2 is a declared deviation.",
    ),
    click.option(
        "--startup-timeout",
        type=Seconds(),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="The limit from launch to the answer to `initialize`.",
    ),
    click.option(
        "--cwd",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        help="The adapter's folder. Default: this one.",
    ),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="Add a variable. Repeatable."),
    click.option(
        "--pass-env", multiple=True, metavar="NAME", help="Pass one of yours. Repeatable."
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="The interpreter for a .py module. Default: the active virtual environment's, "
        "else python3 on the PATH.",
    ),
    click.option(
        "--sandbox",
        type=click.Choice(["bwrap"]),
        help="Run the adapter in a sandbox: no network, nothing writable, no sight of others.",
    ),
    click.option(
        "--allow-network", is_flag=True, help="Let the sandboxed adapter use the network."
    ),
    click.option(
        "--writable",
        multiple=True,
        type=click.Path(exists=True, file_okay=False),
        help="A folder that the sandboxed adapter may write in. Repeatable.",
    ),
    click.option(
        "--max-memory",
        type=click.IntRange(min=1),
        default=_DEFAULTS.memory_bytes // MIB,
        show_default=True,
        metavar="MIB",
        help="The memory of all its processes together.",
    ),
    click.option(
        "--max-processes",
        type=click.IntRange(min=1),
        default=_DEFAULTS.processes,
        show_default=True,
        metavar="N",
        help="How many processes it may have at a time.",
    ),
    click.option(
        "--max-output",
        type=click.IntRange(min=1),
        default=_DEFAULTS.output_bytes // MIB,
        show_default=True,
        metavar="MIB",
        help="What it may write to stdout and stderr together.",
    ),
    click.option(
        "--max-open-files",
        type=click.IntRange(min=8),
        default=_DEFAULTS.open_files,
        show_default=True,
        metavar="N",
        help="How many files each of its processes may have open.",
    ),
)


def adapter_options(command: _Command) -> _Command:
    """Gives a command the argument and the options that `AdapterOptions` holds."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

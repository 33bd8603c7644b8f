"""Where output goes: stdout for people or as one JSON document, stderr for diagnostics."""

import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import click
import msgspec
from rich.console import Console, RenderableType

PLAIN_WIDTH = 140
"""Columns where no terminal says how many it has: room for a trace's table."""


def make_robust() -> None:
    """Lets stdout and stderr take any text, whatever their encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def human_console(*, stderr: bool = False) -> Console:
    """A console for people: colours on a terminal, plain lines elsewhere."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


def print_human(renderables: Iterable[RenderableType]) -> None:
    """Prints for people on stdout; only a terminal's lines are wrapped."""
    console = human_console()
    for renderable in renderables:
        console.print(renderable, soft_wrap=not console.is_terminal)


def print_json(document: Any) -> None:
    """Prints one JSON document on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))


def complain(message: str, advice: str = "") -> None:
    """Tells of a problem on stderr."""
    for line in filter(None, (f"retryproof: {message}", advice)):
        click.echo(line, err=True)


def give_up_on_stdout(status: int) -> NoReturn:
    """Leaves with the status after the reader of stdout has gone away."""
    # The interpreter flushes stdout at exit and would complain about the closed pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)

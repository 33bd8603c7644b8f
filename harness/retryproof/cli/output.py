"""Where output goes: stdout for people or as one JSON document, stderr for diagnostics."""

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click
from retryproof_protocol.quoting import escape_controls
from rich.console import Console, RenderableType

from .. import __version__
from ..errors import EXIT_INTERNAL_ERROR, FileError
from ..reports.formats import PLAIN_WIDTH, as_json

_OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF}


class OutputError(FileError):
    """Standard output can't be written."""


def make_robust() -> None:
    """Lets stdout and stderr take any text, whatever their encoding.

    Raises:
        OutputError: there is no stdout.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        raise OutputError("Standard output is closed.")


@contextmanager
def telling() -> Iterator[None]:
    """Surrounds whatever is printed on stdout.

    Raises:
        BrokenPipeError: nobody reads it any more.
        OutputError: it can't be written.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
            raise
        raise OutputError(f"Standard output can't be written: {error.strerror}.") from None


def human_console(*, stderr: bool = False) -> Console:
    """A console for people: colours on a terminal, plain lines elsewhere."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


def print_human(renderables: Iterable[RenderableType]) -> None:
    """Prints for people on stdout; only a terminal's lines are wrapped."""
    console = human_console()
    with telling():
        for renderable in renderables:
            console.print(renderable, soft_wrap=not console.is_terminal)


def print_json(document: Any) -> None:
    """Prints one JSON document on stdout."""
    print_bytes(as_json(document))


def print_bytes(document: bytes) -> None:
    """Prints a document on stdout as it is."""
    with telling():
        click.echo(document, nl=False)


def complain(message: str, advice: str = "") -> None:
    """Tells of a problem on stderr."""
    for line in filter(None, (f"retryproof: {message}", advice)):
        click.echo(escape_controls(line), err=True)


def abandon_stdout() -> None:
    """Gives up what could not be written, or the interpreter would complain of it at its exit."""
    stdout: TextIO | None = sys.stdout
    if stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())


def report_bug() -> int:
    """Saves the traceback of the error that is being handled, and says where; the status for it."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="retryproof-", suffix=".traceback", delete=False
    ) as file:
        file.write(f"retryproof {__version__}\n{traceback.format_exc()}")
    complain(
        "This is a bug in retryproof, and says nothing about your adapter.",
        f"The traceback is in {file.name}: please send it to the project's issue tracker.",
    )
    return EXIT_INTERNAL_ERROR

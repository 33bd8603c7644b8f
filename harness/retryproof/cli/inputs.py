"""Reading what the user named on the command line."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from ..contract.artifacts import Submission, read_submission
from ..contract.bundle import Bundle
from ..errors import FileError, RetryproofError

MAX_INPUT_BYTES = 1024 * 1024
"""Far above any submission's limit, so that a huge file is refused without being read."""


@contextmanager
def open_named(name: str) -> Iterator[BinaryIO]:
    """A file opened for reading, or standard input for `-`.

    Raises:
        FileError: it can't be opened, or fails while it is read.
    """
    try:
        if name == "-":
            yield _standard_input()
        else:
            with Path(name).open("rb") as file:
                yield file
    except (BrokenPipeError, RetryproofError):
        raise
    except (OSError, ValueError) as error:
        # A name with a NUL in it is a ValueError.
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"{name} can't be read: {reason}.") from None


def read_named(name: str, limit_bytes: int = MAX_INPUT_BYTES, or_less: bool = False) -> bytes:
    """The content of a file, or of standard input for `-`.

    With `or_less`, what is over the limit is left unread and not an error.

    Raises:
        FileError: it can't be read, or is over the limit.
    """
    with open_named(name) as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes and not or_less:
        raise FileError(f"{name} is larger than {limit_bytes:,} bytes.")
    return data[:limit_bytes]


def _standard_input() -> BinaryIO:
    # The type of sys.stdin does not tell that a process may be started without one.
    stream: TextIO | None = sys.stdin
    if stream is None:
        raise FileError("Standard input can't be read: it is closed.")
    return stream.buffer


def read_named_submission(name: str, bundle: Bundle) -> Submission:
    """The artifact or submission wrapper in a file.

    Raises:
        FileError: it can't be read, or is over the limit.
    """
    return read_submission(read_named(name), bundle.mission)

"""Reading what the user named on the command line."""

import sys
from pathlib import Path
from typing import BinaryIO, TextIO

from ..contract.artifacts import Submission, read_submission
from ..contract.bundle import Bundle
from ..errors import FileError

MAX_INPUT_BYTES = 1024 * 1024
"""Far above any submission's limit, so that a huge file is refused without being read."""


def read_named(name: str, limit_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """The content of a file, or of standard input for `-`.

    Raises:
        FileError: it can't be read, or is over the limit.
    """
    try:
        if name == "-":
            data = _standard_input().read(limit_bytes + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(limit_bytes + 1)
    except OSError as error:
        raise FileError(f"{name} can't be read: {error.strerror}.") from None
    if len(data) > limit_bytes:
        raise FileError(f"{name} is larger than {limit_bytes:,} bytes.")
    return data


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

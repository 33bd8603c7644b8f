"""The bearer token that whoever calls over TCP must show: he can read the user's files."""

import secrets
from pathlib import Path

from ..private_files import write_private

TOKEN_BYTES = 32
"""256 bits: nobody guesses it, at any rate."""


def renew_token(path: Path) -> str:
    """A new token, written to its file (mode 0600, one line) in place of the one before.

    Raises:
        FileError: the file can't be written.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    write_private(path, f"{token}\n".encode())
    return token

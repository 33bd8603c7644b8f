"""Where the daemon and its clients meet: the socket, and the folder of what is kept."""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import platformdirs
from msgspec import Struct

from .errors import InvalidArgumentsError

SOCKET_VARIABLE = "RETRYPROOF_SOCKET"
STATE_VARIABLE = "RETRYPROOF_STATE"
MAX_SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""What fits into sun_path with its closing NUL."""

_APPLICATION = "retryproof"


class Places(Struct, frozen=True):
    """The daemon's socket, and its state folder with what is in it. Both are absolute."""

    socket: Path
    state: Path

    @property
    def database(self) -> Path:
        """The SQLite database of all runs."""
        return self.state / "runs.sqlite3"

    @property
    def token(self) -> Path:
        """The file with the bearer token for loopback TCP."""
        return self.state / "token"

    @property
    def lock(self) -> Path:
        """The file whose lock the folder's daemon holds."""
        return self.state / "lock"


def default_places(
    environment: Mapping[str, str], socket: str | None = None, state: str | None = None
) -> Places:
    """The places as given, else as the environment has them, else the user's own folders.

    Nothing is made. A variable that is empty counts as one that is not there.

    Args:
        environment: may have RETRYPROOF_SOCKET and RETRYPROOF_STATE.
        socket: the value of --socket.
        state: the value of --state.

    Raises:
        InvalidArgumentsError: the socket's path is longer than the system allows, or nothing
            names a place and the user has no folder of the kind.
    """
    return Places(
        _fitting(_absolute(socket or environment.get(SOCKET_VARIABLE)) or _default_socket()),
        _absolute(state or environment.get(STATE_VARIABLE)) or _default_state(),
    )


def _absolute(name: str | None) -> Path | None:
    return Path(name).absolute() if name else None


def _fitting(socket: Path) -> Path:
    length = len(os.fsencode(socket))
    if length > MAX_SOCKET_PATH_BYTES:
        raise InvalidArgumentsError(
            f"The socket's path {socket} has {length} bytes;"
            f" the system allows {MAX_SOCKET_PATH_BYTES}.",
            f"Name a shorter one with --socket PATH, or in {SOCKET_VARIABLE}.",
        )
    return socket


def _default_socket() -> Path:
    folder = _users_folder(platformdirs.user_runtime_path, f"--socket PATH, or {SOCKET_VARIABLE}")
    return folder / f"{_APPLICATION}.sock"


def _default_state() -> Path:
    return _users_folder(platformdirs.user_state_path, f"--state DIR, or {STATE_VARIABLE}")


def _users_folder(find: Callable[[str], Path], way_out: str) -> Path:
    try:
        with warnings.catch_warnings():
            # That XDG_RUNTIME_DIR is not set is no news to whoever has none.
            warnings.simplefilter("ignore")
            return find(_APPLICATION)
    except (OSError, RuntimeError) as error:
        raise InvalidArgumentsError(
            f"There is no folder to use for this user: {error}.", f"Name one with {way_out}."
        ) from None

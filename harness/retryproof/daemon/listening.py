"""The sockets the daemon listens at: its own on Unix, loopback TCP, or those systemd hands over."""

import contextlib
import errno
import fcntl
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from msgspec import Struct

from ..errors import DaemonRunningError, FileError, InvalidArgumentsError
from ..private_files import ensure_private_folder

BACKLOG = 512
"""Clients that may wait to be accepted: a thousand that come at once are not turned away."""

_FIRST_ACTIVATED = 3
"""SD_LISTEN_FDS_START of sd_listen_fds(3)."""
_ACTIVATION_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_MAX_ACTIVATED = 16
"""Far more than a unit has; a number from the environment is not a reason to look at millions."""
_CONNECTABLE_BY_OTHERS = 0o022
"""To connect takes write permission: unix(7)."""
_MAX_PORT = 0xFFFF
_ANY_LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
_LOOPBACK_6 = ipaddress.IPv6Address("::1")
_LISTEN_ADVICE = "Name a loopback address, such as --listen 127.0.0.1:8080."


class UnixListener(Struct, frozen=True):
    """A listening Unix socket, and how to tell its file from another one of the name."""

    socket: socket.socket
    path: Path
    identity: tuple[int, int, int]


def bind_unix(path: Path) -> UnixListener:
    """Listens at the path, of mode 0600 from the first moment, in a private folder.

    What a dead daemon left there is replaced; nothing else ever is. Changes the umask for a
    moment: call it before there are threads that make files.

    Raises:
        DaemonRunningError: somebody answers there.
        FileError: something else has the name, or the folder is not private (it is made if it
            is missing).
    """
    ensure_private_folder(path.parent)
    try:
        with _folder_locked(path.parent):
            _remove_stale(path)
            return _listen_at(path)
    except OSError as error:
        raise FileError(f"The socket {path} can't be made: {error.strerror}.") from None


def unlink_unix(listener: UnixListener) -> None:
    """Removes the socket's file, unless another one has taken its place. Never fails."""
    with contextlib.suppress(OSError), _folder_locked(listener.path.parent):
        if _identity(os.lstat(listener.path)) == listener.identity:
            os.unlink(listener.path)


def bind_loopback(address: str) -> socket.socket:
    """Listens at HOST:PORT, where HOST is `localhost` or a loopback address (IPv6 in brackets).

    Port 0 is any free one.

    Raises:
        InvalidArgumentsError: it is no such address, or can't be had.
    """
    host, port = _parse(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _cannot_listen(address, error) from None
    try:
        # Or the address is not to be had for a minute after a restart.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(address, error) from None
    return listener


def activated_sockets(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """The listening sockets that systemd hands over, as sd_listen_fds(3) has it; often none.

    Takes the variables out of the environment and keeps the sockets from programs that are
    started later. Their files belong to systemd: never unlink them.

    Raises:
        InvalidArgumentsError: what is handed over is no listening stream socket, or others than
            the user could connect to it.
    """
    values = [environment.pop(name, "") for name in _ACTIVATION_VARIABLES]
    if values[0] != str(os.getpid()):
        return []
    count = _number(values[1], _MAX_ACTIVATED)
    if count is None:
        raise InvalidArgumentsError(
            f"LISTEN_FDS is no number of sockets up to {_MAX_ACTIVATED}: {values[1]!r}.",
            "Is the daemon started by its systemd unit?",
        )
    with contextlib.ExitStack() as taken:
        listeners = [
            taken.enter_context(_activated(_FIRST_ACTIVATED + index)) for index in range(count)
        ]
        for listener in listeners:
            _check_activated(listener)
        taken.pop_all()
    return listeners


@contextlib.contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Between two daemons that both find a stale socket, one must not remove the other's new one.

    Others hold the lock only while they do the same few things, which can't block.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(about.st_mode):
        raise FileError(
            f"{path} is a symbolic link, which is not followed.",
            "Remove it, or name another place with --socket.",
        )
    if not stat.S_ISSOCK(about.st_mode):
        raise FileError(
            f"{path} is there already, and is not a socket: it is left alone.",
            "Move it away, or name another place with --socket.",
        )
    if _is_answered(path):
        raise DaemonRunningError(
            f"Another process already answers at the socket {path}.",
            "Use that one (`retryproof status` asks who it is), or name another place with"
            " --socket.",
        )
    os.unlink(path)


def _is_answered(path: Path) -> bool:
    """Whether a process listens there, even one that is too busy to accept."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(os.fsencode(path)) != errno.ECONNREFUSED


def _listen_at(path: Path) -> UnixListener:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        previous = os.umask(0o177)
        try:
            listener.bind(os.fsencode(path))
        finally:
            os.umask(previous)
        # At once: until then it looks like a stale one.
        listener.listen(BACKLOG)
        return UnixListener(listener, path, _identity(os.lstat(path)))
    except BaseException:
        listener.close()
        raise


def _identity(about: os.stat_result) -> tuple[int, int, int]:
    # An inode's number is given anew at once; the time at which it was made is not.
    return about.st_dev, about.st_ino, about.st_mtime_ns


def _parse(address: str) -> tuple[str, int]:
    host, _, port_text = address.rpartition(":")
    port = _number(port_text, _MAX_PORT)
    if not host or port is None:
        raise InvalidArgumentsError(f"{address!r} is not HOST:PORT.", _LISTEN_ADVICE)
    if host == "localhost":
        host = "127.0.0.1"
    is_bracketed = host.startswith("[") and host.endswith("]")
    with contextlib.suppress(ValueError):
        parsed = ipaddress.ip_address(host[1:-1] if is_bracketed else host)
        if is_bracketed == (parsed.version == 6) and _is_loopback(parsed):
            return str(parsed), port
    raise InvalidArgumentsError(
        f"{address!r} is not a loopback address: to submit a run is to run a command, and other"
        " machines must not.",
        f"{_LISTEN_ADVICE} From another machine, use ssh -L.",
    )


def _number(text: str, most: int) -> int | None:
    """The number if it is written in plain digits, without leading zeros, and not too large."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if str(number) == text and number <= most else None


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address == _LOOPBACK_6 or address in _ANY_LOOPBACK


def _cannot_listen(address: str, error: OSError) -> InvalidArgumentsError:
    if error.errno == errno.EADDRINUSE:
        return InvalidArgumentsError(
            f"Another process already listens at {address}.",
            "Stop it, or name another port; with port 0 the system chooses a free one.",
        )
    return InvalidArgumentsError(f"Can't listen at {address}: {error.strerror}.", _LISTEN_ADVICE)


def _activated(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        return socket.socket(fileno=descriptor)
    except OSError as error:
        raise InvalidArgumentsError(
            f"Descriptor {descriptor}, which LISTEN_FDS promises, is no socket: {error.strerror}.",
            "Is the daemon started by its systemd unit?",
        ) from None


def _check_activated(listener: socket.socket) -> None:
    is_listening = listener.type == socket.SOCK_STREAM and listener.getsockopt(
        socket.SOL_SOCKET, socket.SO_ACCEPTCONN
    )
    if not is_listening:
        raise InvalidArgumentsError(
            "A socket that systemd hands over is no listening stream socket.",
            "Use ListenStream= in the socket unit, and Accept=no.",
        )
    if listener.family == socket.AF_UNIX:
        _check_activated_file(listener.getsockname())
    else:
        _check_activated_address(listener)


def _check_activated_file(name: str | bytes) -> None:
    # A name in the abstract namespace is bytes that start with NUL: anybody may connect.
    if isinstance(name, bytes) or not name:
        raise InvalidArgumentsError(
            "A Unix socket that systemd hands over has no file whose mode could guard it.",
            "Name a path with ListenStream= in the socket unit.",
        )
    try:
        about = os.lstat(name)
    except OSError as error:
        raise InvalidArgumentsError(
            f"The socket {name} that systemd hands over is gone: {error.strerror}.",
            "Restart the socket unit.",
        ) from None
    if about.st_uid != os.geteuid() or about.st_mode & _CONNECTABLE_BY_OTHERS:
        raise InvalidArgumentsError(
            f"Others than the daemon's user can connect to the socket {name}.",
            "Set SocketMode=0600 in the socket unit, and let the user's own systemd have it.",
        )


def _check_activated_address(listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    if listener.family not in (socket.AF_INET, socket.AF_INET6) or not _is_loopback(
        ipaddress.ip_address(host)
    ):
        raise InvalidArgumentsError(
            f"A socket that systemd hands over is open to other machines: {host} port {port}.",
            "Use a loopback address with ListenStream= in the socket unit.",
        )

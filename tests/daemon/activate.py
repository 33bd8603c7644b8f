"""Starts a program as systemd does for a socket unit: python activate.py SOCKET... -- COMMAND...

Each SOCKET is a listening one: a path, or HOST:PORT, or `datagram`, `abstract`, `any`, `file` for
what a unit should not hand over. `LISTEN_PID=` or `LISTEN_FDS=` before them sets another value.
"""

import os
import socket
import sys


def made(what: str) -> int:
    """A descriptor of the wanted kind, below ten of which nothing is open but the standard ones."""
    if what == "file":
        return os.open(os.devnull, os.O_RDONLY)
    if what == "datagram":
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach()
    if what == "silent":
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM).detach()
    if what.startswith("/") or what == "abstract":
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(f"\0retryproof-test-{os.getpid()}" if what == "abstract" else what)
    else:
        host, _, port = what.rpartition(":")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind((host, int(port)))
    listener.listen()
    return listener.detach()


def main() -> None:
    """Puts the sockets at descriptors from three on, and becomes the command."""
    separator = sys.argv.index("--")
    wanted, command = sys.argv[1:separator], sys.argv[separator + 1 :]
    changed = dict(item.split("=", 1) for item in wanted if item.startswith("LISTEN_"))
    sockets = [item for item in wanted if not item.startswith("LISTEN_")]
    os.umask(0o177)
    descriptors = [made(item) for item in sockets]
    # Far away first: the places from three on may be taken by those that are still to be put.
    for index, descriptor in enumerate(descriptors):
        os.dup2(descriptor, 100 + index)
    for index in range(len(descriptors)):
        os.dup2(100 + index, 3 + index, inheritable=True)
    os.closerange(3 + len(descriptors), 200)
    variables = {
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDS": str(len(descriptors)),
        "LISTEN_FDNAMES": ":".join(["retryproof.socket"] * len(descriptors)),
    }
    os.execve(command[0], command, {**os.environ, **variables, **changed})


if __name__ == "__main__":
    main()

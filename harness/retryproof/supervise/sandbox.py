"""The sandbox: an adapter that can read its folder, write nowhere, and reach nobody.

bubblewrap gives it namespaces of its own (user, processes, network, IPC), no capabilities, a
read-only file system in which /tmp and /run are private and empty, and dies with the guard.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from ..errors import InvalidArgumentsError
from .launch import Launch, Sandbox

_PRIVATE_FOLDERS = ("/tmp", "/run", "/var/tmp")  # noqa: S108 - these are what is hidden
_NOBODY = "65534"
_PROBE_LIMIT_SECONDS = 10


def sandboxed(launch: Launch, sandbox: Sandbox) -> Launch:
    """The same adapter inside the sandbox.

    Raises:
        InvalidArgumentsError: bubblewrap is missing, or the system forbids its namespaces.
    """
    bwrap = _bubblewrap()
    command = launch.command
    named = _named_folders(command.argv, command.cwd)
    visible = tuple(filter(_is_hidden, (*named, *launch.needed_folders)))
    options = _options(sandbox, visible)
    _require_namespaces(bwrap, options)
    return replace(
        launch,
        sandbox=sandbox,
        command=replace(
            command,
            argv=(bwrap, *options, "--chdir", command.cwd, "--", *command.argv),
            environment=_environment(command.environment, launch.added_environment),
            is_sandboxed=True,
        ),
    )


def _options(sandbox: Sandbox, visible: tuple[str, ...]) -> tuple[str, ...]:
    options = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    if not sandbox.allow_network:
        options.append("--unshare-net")
    options += ["--die-with-parent", "--uid", _NOBODY, "--gid", _NOBODY]
    # Root would otherwise keep the capabilities to mount everything read-write again.
    options += ["--cap-drop", "ALL"]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for folder in _PRIVATE_FOLDERS:
        # A read-only mount would not stop anyone from connecting to a socket in it.
        options += ["--tmpfs", folder]
    for folder in visible:
        options += ["--ro-bind", folder, folder]
    for folder in sandbox.writable:
        options += ["--bind", folder, folder]
    return tuple(options)


def _named_folders(argv: tuple[str, ...], cwd: str) -> Iterator[str]:
    """The adapter's folder, and those of the files that its command names."""
    yield cwd
    for argument in argv:
        path = Path(cwd, argument)
        # Unlike the method of Path, it takes any argument at all, such as a whole program.
        if os.path.isfile(path):
            for folder in {path.parent, path.resolve().parent}:
                yield str(folder)
                # A virtual environment's interpreter looks for the rest of it one level up.
                if folder.name == "bin":
                    yield str(folder.parent)


def _is_hidden(folder: str) -> bool:
    return any(Path(folder).is_relative_to(hidden) for hidden in _PRIVATE_FOLDERS)


def _environment(passed: Mapping[str, str], added: tuple[str, ...]) -> dict[str, str]:
    inside = {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108 - private in there
    return dict(passed) | {name: path for name, path in inside.items() if name not in added}


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise InvalidArgumentsError(
            "--sandbox bwrap: bubblewrap is not installed.",
            "Install the package bubblewrap, or run without --sandbox an adapter that you trust.",
        )
    return found


def _require_namespaces(bwrap: str, options: tuple[str, ...]) -> None:
    """Tries the sandbox on a program that does nothing.

    As the first process in it, so that bubblewrap leaves no orphan to this process.
    """
    try:
        probe = subprocess.run(
            [bwrap, *options, "--as-pid-1", "--", "true"],
            check=False,
            capture_output=True,
            timeout=_PROBE_LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise InvalidArgumentsError("--sandbox bwrap: bubblewrap does not start here.") from None
    if probe.returncode != 0:
        reason = probe.stderr.decode("utf-8", "backslashreplace").strip()
        raise InvalidArgumentsError(
            f"--sandbox bwrap: bubblewrap can't make its sandbox here ({reason}).",
            "Unprivileged user namespaces may be forbidden on this system.",
        )

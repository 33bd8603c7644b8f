"""How an adapter is started: as a program, or as a module under its language's host."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from .. import resources
from ..errors import FileError, InvalidArgumentsError
from .guard import Command

_PASSED_VARIABLES = frozenset(
    {
        "COMSPEC",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "PATHEXT",
        "SHELL",
        "SYSTEMROOT",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "WINDIR",
    }
)
"""What a program needs to run at all. Everything else may hold a secret and stays out."""

_HOSTS = {".py": "python", ".mjs": "node", ".js": "node", ".cjs": "node"}
_HOST_PROGRAMS = {"python": "adapters/python/host.py", "node": "adapters/node/host.mjs"}


class Sandbox(Struct, frozen=True):
    """What a sandboxed adapter is allowed: the network, and folders that it may write in."""

    allow_network: bool = False
    writable: tuple[str, ...] = ()


class Launch(Struct, frozen=True):
    """A command, which host runs the module in it if any, and the sandbox around it if any.

    `shown_argv` is the command as it is without the sandbox; `needed_folders` are those that it
    reads without naming them.
    """

    command: Command
    shown_argv: tuple[str, ...]
    host: str | None = None
    added_environment: tuple[str, ...] = ()
    sandbox: Sandbox | None = None
    needed_folders: tuple[str, ...] = ()


class Surroundings(Struct, frozen=True):
    """Where an adapter runs: its folder, and what its environment is made from.

    The short list is taken from `inherited`, or from our own environment if that is None.
    """

    cwd: str
    added_environment: Mapping[str, str]
    inherited: Mapping[str, str] | None = None

    def environment(self) -> dict[str, str]:
        """The short list, and what was added."""
        return short_list(self._own) | dict(self.added_environment)

    def search_path(self) -> str | None:
        """Where the programs are that run a module."""
        return self._own.get("PATH")

    @property
    def _own(self) -> Mapping[str, str]:
        return os.environ if self.inherited is None else self.inherited


def short_list(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that every adapter gets: enough to run at all, none that is a secret."""
    return {
        name: value
        for name, value in environment.items()
        if name.upper() in _PASSED_VARIABLES or name.startswith("LC_")
    }


def is_module(name: str) -> bool:
    """Whether a file of this name is a module for one of the bundled hosts."""
    return Path(name).suffix.lower() in _HOSTS


def program(argv: tuple[str, ...], surroundings: Surroundings) -> Launch:
    """An adapter that is a program of its own, in any language."""
    return _launch(argv, None, surroundings)


def module(name: str, surroundings: Surroundings, python: str | None = None) -> Launch:
    """A module adapter, run by the bundled host of its language.

    `python` names the interpreter for a Python module; without it the user's own is taken:
    the virtual environment that is active, else the `python3` on the PATH.

    Raises:
        FileError: there is no such file.
        InvalidArgumentsError: it has no known ending, or its language is not installed.
    """
    path = Path(name)
    # The method of Path fails for a name that is too long.
    if not os.path.isfile(path):
        raise FileError(f"There is no file {name}.", "Name an adapter module, or -- COMMAND ARG...")
    if not is_module(name):
        raise InvalidArgumentsError(
            f"{name} has none of the endings of adapter modules ({', '.join(_HOSTS)}).",
            f"To run it as a program: retryproof run -- {name}",
        )
    host = _HOSTS[path.suffix.lower()]
    path_variable = surroundings.search_path()
    if host == "python":
        interpreter = python_interpreter(python, path_variable)
    else:
        interpreter = _found("node", "a JavaScript module adapter", path_variable)
    host_program = str(resources.path_of(_HOST_PROGRAMS[host]))
    return _launch((interpreter, host_program, str(path.resolve())), host, surroundings)


def http_service(
    name: str,
    added_environment: Mapping[str, str],
    inherited: Mapping[str, str] | None = None,
) -> Launch:
    """The bundled adapter for the HTTP service of a SERVICE.toml, run in that file's folder."""
    file = Path(name).resolve()
    # Without -P a folder with an http.py of its own would break the adapter.
    argv = (sys.executable, "-P", "-m", "retryproof.http_adapter", str(file))
    launch = _launch(argv, "http", Surroundings(str(file.parent), added_environment, inherited))
    return replace(launch, needed_folders=(sys.prefix, *filter(os.path.isdir, sys.path)))


def with_arguments(launch: Launch, arguments: tuple[str, ...]) -> Launch:
    """The same adapter, given arguments of its own."""
    argv = launch.command.argv + arguments
    return replace(launch, command=replace(launch.command, argv=argv), shown_argv=argv)


def python_interpreter(wanted: str | None, path_variable: str | None = None) -> str:
    """The interpreter for a Python module: the wanted one, or that of the user's environment.

    Raises:
        InvalidArgumentsError: there is none.
    """
    if wanted is not None:
        return _found(wanted, "--python")
    if environment := os.environ.get("VIRTUAL_ENV"):
        return _found(str(Path(environment, "bin", "python")), "the active virtual environment")
    return _found("python3", "a Python module adapter", path_variable)


def _found(program_name: str, wanted_by: str, path_variable: str | None = None) -> str:
    found = shutil.which(program_name, path=path_variable)
    if found is None:
        raise InvalidArgumentsError(
            f"{program_name}, needed for {wanted_by}, was not found or is not executable.",
            "Install it, or put it on the PATH; for Python there is --python PATH.",
        )
    # Not resolved any further: a virtual environment's interpreter is a link that must stay one.
    return str(Path(found).absolute())


def _launch(argv: tuple[str, ...], host: str | None, surroundings: Surroundings) -> Launch:
    command = Command(argv, surroundings.environment(), surroundings.cwd)
    return Launch(command, argv, host, tuple(sorted(surroundings.added_environment)))

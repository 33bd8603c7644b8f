"""A new project folder: which files it gets, and writing them without touching any other."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ..errors import FileError
from ..supervise.launch import is_module
from .catalogue import Kit, http_folder, is_http, kit_for

_TEMPLATE = "template"
_SERVICE_FILES = ("service.toml", "README.md")


class Plan(Struct, frozen=True):
    """What a project will be.

    Attributes:
        files: where each file comes from, by its place in the project.
        build: the commands that make the adapter, as a shell reads them.
        adapter: how `retryproof` commands name it, as a shell reads it.
        missing_tools: programs that the commands need and that are not installed here.
    """

    language: str
    files: Mapping[str, Path]
    build: tuple[str, ...]
    adapter: str
    missing_tools: tuple[str, ...] = ()


def plan_for(language: str) -> Plan:
    """The plan of a project in a language, or of one for an HTTP service.

    Raises:
        InvalidArgumentsError: there is no kit for the language.
    """
    if is_http(language):
        files = {name: http_folder() / name for name in _SERVICE_FILES}
        return Plan("http", files, (), "--http service.toml")
    kit = kit_for(language)
    return Plan(
        kit.name,
        _template_files(kit) | {name: kit.folder / name for name in kit.project.copies},
        tuple(map(shlex.join, kit.project.build)),
        adapter_argument(kit),
        kit.missing_tools,
    )


def adapter_argument(kit: Kit) -> str:
    """How `retryproof` commands name the project's adapter: a module, or -- and a command."""
    command = shlex.join(kit.project.run)
    is_one_module = len(kit.project.run) == 1 and is_module(kit.project.run[0])
    return command if is_one_module else f"-- {command}"


def write(plan: Plan, folder: Path) -> tuple[Path, ...]:
    """Writes the files, all of them or none, and returns where they are.

    Raises:
        FileError: one of them is there already, or can't be written.
    """
    targets = {folder / name: source for name, source in plan.files.items()}
    taken = [obstacle for target in targets if (obstacle := _obstacle(target)) is not None]
    if taken:
        raise FileError(
            f"{taken[0]} is there already: nothing was written.",
            "Name another folder: an existing file is never changed.",
        )
    written: list[Path] = []
    try:
        for target, source in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            content = source.read_bytes()
            with target.open("xb") as file:
                written.append(target)
                file.write(content)
    except OSError as error:
        for target in written:
            target.unlink(missing_ok=True)
        raise FileError(f"{error.filename} can't be written: {error.strerror}.") from None
    return tuple(written)


def _template_files(kit: Kit) -> dict[str, Path]:
    folder = kit.folder / _TEMPLATE
    # An installation compiles each .py that it finds.
    found = (path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path for path in found if path.is_file()}


def _obstacle(target: Path) -> Path | None:
    """What is in the way of a file: itself, or something that is no folder and should be one."""
    if os.path.lexists(target):
        return target
    for parent in target.parents:
        if parent.is_dir():
            return None
        if os.path.lexists(parent):
            return parent
    return None

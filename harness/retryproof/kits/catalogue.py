"""The kits as their `adapter.toml` describe them."""

import shutil
import tomllib
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import resources
from ..errors import InvalidArgumentsError

_FOLDER = "adapters"
_HTTP = "http"


class Project(Struct, frozen=True, forbid_unknown_fields=True):
    """What a new project of a kit is: its template, and these.

    Attributes:
        copies: which of the kit's own files it gets, each at the same place.
        build: the commands that make the adapter, one after the other, in the project's folder.
        run: the command that is the adapter, or the one module for a bundled host.
    """

    copies: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]


class Kit(Struct, frozen=True, forbid_unknown_fields=True):
    """An `adapter.toml`, and the folder that it is in.

    Attributes:
        tools: the programs that the kit's commands need.
        build: the commands that make the reference adapter, in the kit's folder.
        run: the command that is the reference adapter.
    """

    name: str
    language: str
    tools: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    run: tuple[str, ...]
    project: Project
    folder: Path = Path()

    @property
    def missing_tools(self) -> tuple[str, ...]:
        """Those of its tools that are not on the PATH here."""
        return tuple(tool for tool in self.tools if shutil.which(tool) is None)


def kits() -> tuple[Kit, ...]:
    """Every kit, by name."""
    folder = resources.path_of(_FOLDER)
    return tuple(_load(file) for file in sorted(folder.glob("*/adapter.toml")))


def kit_for(language: str) -> Kit:
    """The kit of that name, or for the language of that name, in any case.

    Raises:
        InvalidArgumentsError: there is none.
    """
    known = kits()
    for kit in known:
        if language.lower() in {kit.name, kit.language.lower()}:
            return kit
    names = ", ".join([kit.name for kit in known] + [_HTTP])
    raise InvalidArgumentsError(
        f"There is no kit for {language}.",
        f"There are {names}. In any other language, an adapter is a program that speaks the "
        "protocol: see PROTOCOL.md.",
    )


def http_folder() -> Path:
    """Where the description of an HTTP service is, which needs no adapter."""
    return resources.path_of(f"{_FOLDER}/{_HTTP}")


def is_http(language: str) -> bool:
    """Whether no language is meant, but any HTTP service."""
    return language.lower() == _HTTP


def _load(file: Path) -> Kit:
    kit = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Kit)
    return replace(kit, folder=file.parent)

"""What `init` tells: schemas retryproof.languages/1 and, of a new project, retryproof.init/1."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from retryproof_protocol.quoting import escape_controls
from rich.text import Text

_NAME_WIDTH = 10
_LANGUAGE_WIDTH = 16


class LanguageReport(Struct, frozen=True, rename="camel"):
    """One language: what its kit's commands need, and which of that is not installed here."""

    name: str
    language: str
    tools: tuple[str, ...]
    missing_tools: tuple[str, ...]


class LanguagesReport(Struct, frozen=True, rename="camel"):
    """Every language that there is a kit for."""

    schema: Literal["retryproof.languages/1"]
    languages: tuple[LanguageReport, ...]


class ProjectReport(Struct, frozen=True, rename="camel"):
    """A project that was begun: the files as they are now, and the commands that come next."""

    schema: Literal["retryproof.init/1"]
    language: str
    files: tuple[str, ...]
    next: tuple[str, ...]
    missing_tools: tuple[str, ...]


def render_languages(report: LanguagesReport) -> Iterator[Text]:
    """A line a language."""
    for each in report.languages:
        line = Text(f"  {each.name.ljust(_NAME_WIDTH)}  {each.language.ljust(_LANGUAGE_WIDTH)}  ")
        if each.missing_tools:
            line.append(f"not installed here: {', '.join(each.missing_tools)}", "yellow")
        else:
            needs = f" ({', '.join(each.tools)})" if each.tools else ""
            line.append(f"ready{needs}", "green")
        yield line


def render_project(report: ProjectReport) -> Iterator[Text]:
    """A line a file, then what to do."""
    for name in report.files:
        yield Text(f"wrote {escape_controls(name)}")
    if report.missing_tools:
        missing = ", ".join(report.missing_tools)
        yield Text(f"Not installed here, and needed to go on: {missing}.", "yellow")
    yield Text()
    yield Text("README.md says how to connect your service. Then:")
    for command in report.next:
        yield Text(f"  {escape_controls(command)}")

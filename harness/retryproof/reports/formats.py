"""A report as bytes, in each format that there is."""

import io
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from rich.console import Console, RenderableType

ReportFormat: TypeAlias = Literal["json", "text"]
FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)
PLAIN_WIDTH = 140
"""Columns where no terminal says how many it has: room for a trace's table."""


def as_json(document: Any) -> bytes:
    """One JSON document, indented, with a line end."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def as_text(renderables: Iterable[RenderableType]) -> bytes:
    """Plain lines for people."""
    lines = io.StringIO()
    console = Console(
        file=lines, width=PLAIN_WIDTH, color_system=None, highlight=False, markup=False, emoji=False
    )
    for renderable in renderables:
        console.print(renderable, soft_wrap=True)
    return lines.getvalue().encode()

"""Reports in files: asked for as FORMAT=PATH, written whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from ..errors import FileError
from ..reports.formats import as_json
from ..reports.report import RunReport

FORMATS = ("json",)


class ReportFile(Struct, frozen=True):
    """A report to be written."""

    format: str
    path: Path


class ReportFileType(click.ParamType[ReportFile]):
    """The value of --report."""

    name = "FORMAT=PATH"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> ReportFile:
        """Parses `json=report.json`; the folder must be there already."""
        if isinstance(value, ReportFile):
            return value
        report_format, separator, path = str(value).partition("=")
        if not separator or not path or report_format not in FORMATS:
            self.fail(f"{value!r} is not FORMAT=PATH with a format of: {', '.join(FORMATS)}.")
        if not Path(path).absolute().parent.is_dir():
            self.fail(f"The folder of {path} does not exist.")
        return ReportFile(report_format, Path(path))


def write_report(file: ReportFile, report: RunReport[Any]) -> None:
    """Writes beside the path and moves into place: a reader sees all of it, or the old file.

    Raises:
        FileError: it can't be written; nothing is left half written.
    """
    target = file.path.absolute()
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as temporary:
            temporary.write(as_json(report))
        os.chmod(temporary.name, 0o666 & ~_umask())
        os.replace(temporary.name, target)
    except OSError as error:
        raise FileError(f"The report {file.path} can't be written: {error.strerror}.") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current

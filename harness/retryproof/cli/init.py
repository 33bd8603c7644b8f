"""`retryproof init`."""

import click

from .. import app
from ..errors import EXIT_PASS
from ..reports.projects import render_languages, render_project
from .output import print_human, print_json


@click.command()
@click.argument("language", required=False)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--list", "list_only", is_flag=True, help="Show the languages; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def init(language: str | None, folder: str, list_only: bool, as_json: bool) -> int:
    """Begin an adapter: a folder with all that it needs but your service.

    Writes into DIR (this folder, if none is named) the library of LANGUAGE, an adapter whose
    functions fail until they are connected and say what to write there, and a README. With http
    for LANGUAGE, the description of an HTTP service, which needs no code. No file that exists is
    changed.

    \b
    Examples:
      retryproof init go my-adapter
      retryproof init http
      retryproof init --list
    """
    if list_only:
        languages = app.languages()
        print_json(languages) if as_json else print_human(render_languages(languages))
        return EXIT_PASS
    if language is None:
        raise click.UsageError(
            "Missing argument 'LANGUAGE': `retryproof init --list` shows them all.",
            click.get_current_context(),
        )
    project = app.begin_project(language, folder)
    print_json(project) if as_json else print_human(render_project(project))
    return EXIT_PASS

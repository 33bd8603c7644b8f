"""Golden texts: files under `golden/` that hold what a person is to read, to the letter.

After a change on purpose, write them anew and read the difference:

    RETRYPROOF_UPDATE_GOLDEN=1 pytest tests/reports tests/zoo
    git diff tests/golden
"""

import io
import os
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, RenderableType

FOLDER = Path(__file__).parent / "golden"
WIDTH = 140
_UPDATE = "RETRYPROOF_UPDATE_GOLDEN"


def rendered(renderables: Iterable[RenderableType]) -> str:
    """The text as it is printed where no terminal is: no colours, no wrapped lines."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for renderable in renderables:
        console.print(renderable, soft_wrap=True)
    return file.getvalue()


def assert_golden(name: str, text: str) -> None:
    """Compares the text with the golden file of that name; spaces at line ends do not count."""
    path = FOLDER / name
    stripped = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get(_UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stripped, encoding="utf-8")
    assert path.is_file(), f"there is no {path.name}: see tests/golden_files.py"
    assert stripped == path.read_text(encoding="utf-8"), "see tests/golden_files.py"

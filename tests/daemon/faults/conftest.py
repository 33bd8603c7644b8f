"""Whatever a test here starts must be gone after it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.leaks import nothing_is_left

__all__ = ["nothing_is_left", "place"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A private folder in which even a socket has a short path."""
    folder = Path(tempfile.mkdtemp(prefix="rp-"))
    yield folder
    shutil.rmtree(folder)

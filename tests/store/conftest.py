"""A store in a folder of the test's own; what is opened is closed again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from retryproof.store.runs import RunStore

from tests.leaks import nothing_is_left
from tests.store.storing import opened

__all__ = ["nothing_is_left"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the test's database is to be."""
    return tmp_path / "runs.sqlite3"


@pytest.fixture
def store(file: Path, nothing_is_left: None) -> Iterator[RunStore]:
    """A fresh store in that file."""
    with opened(file) as store:
        yield store

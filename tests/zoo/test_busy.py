"""The zoo once more, while every processor is busy with something else."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from bench.deadlines import busy_processors
from tests.zoo.driving import check, drive
from tests.zoo.table import ROWS, Row


@pytest.fixture(scope="module")
def busy() -> Iterator[None]:
    with busy_processors():
        yield


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_with_every_processor_busy(
    row: Row,
    tmp_path: Path,
    busy: None,
) -> None:
    check(row, anyio.run(drive, row, tmp_path))

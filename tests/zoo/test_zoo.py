"""Every behaviour of the zoo: the verdict, the words, the next cases, and nothing left behind."""

from pathlib import Path

import anyio
import pytest
from retryproof.reports.report import Report

from tests.golden_files import assert_golden
from tests.zoo.driving import check, drive
from tests.zoo.table import ROWS, Row
from tests.zoo.wording import stable

AT_A_TIME = 8


def test_the_zoo_has_at_least_forty_behaviours_each_once() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names)) >= 40


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_alone(row: Row, tmp_path: Path) -> None:
    check(row, anyio.run(drive, row, tmp_path))


def test_eight_at_a_time(tmp_path: Path) -> None:
    reports: dict[str, Report] = {}

    async def drive_all() -> None:
        slots = anyio.CapacityLimiter(AT_A_TIME)

        async def drive_one(row: Row) -> None:
            async with slots:
                reports[row.name] = await drive(row, tmp_path)

        async with anyio.create_task_group() as group:
            for row in ROWS:
                group.start_soon(drive_one, row)

    anyio.run(drive_all)
    for row in ROWS:
        check(row, reports[row.name])
    assert_golden("zoo.txt", "\n".join(words(row, reports[row.name]) for row in ROWS))


def words(row: Row, report: Report) -> str:
    """What the report tells of this behaviour, without what differs from run to run."""
    lines = [f"{row.name}: {' '.join(row.arguments)[:80]}"]
    for case in report.cases:
        if case.failure is not None:
            step = "" if case.failure.call.step is None else f" {case.failure.call.step + 1}"
            lines.append(f"  {case.failure.kind} at {case.failure.call.method}{step}")
            lines += [f"  {case.failure.message}", f"  > {case.failure.advice}"]
    lines += [f"  warning: {warning}" for warning in report.warnings]
    return stable(row, "\n".join(lines) + "\n")

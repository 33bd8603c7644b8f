"""Every behaviour of the zoo: the verdict, the words, the next cases, and nothing left behind."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from retryproof.app import RunRequest, drive_async
from retryproof.reports.report import Report
from retryproof.supervise.launch import program

from bench.deadlines import busy_processors
from tests.driving import BUNDLE, assert_conserved, here
from tests.golden_files import assert_golden
from tests.zoo.table import CALL_SECONDS, CASES, ROWS, Row

FAULTY = str(Path(__file__).parent.parent.parent / "fixtures/faulty/adapter.py")
AT_A_TIME = 8
PATIENCE_SECONDS = 60
"""For a whole run on a machine that does other things as well: only a hang takes longer."""


async def drive(row: Row, folder: Path) -> Report:
    once = ("--once", str(folder / f"{row.name}.once"))
    argv = (sys.executable, "-I", "-S", FAULTY, *once, *row.arguments)
    request = RunRequest(program(argv, here()), CASES, row.time_and_other_limits(), keep_going=True)
    with anyio.fail_after(PATIENCE_SECONDS):
        return await drive_async(BUNDLE, request)


def check(row: Row, report: Report) -> None:
    assert_conserved(report)
    assert tuple(case.verdict for case in report.cases) == row.expected_verdicts()
    failures = [case.failure for case in report.cases if case.failure is not None]
    if row.kind is None:
        assert failures == []
    else:
        (failure,) = failures
        assert failure.kind == row.kind
        assert failure.message.startswith(row.message)
        assert row.advice in failure.advice
        assert failure.definite == (row.kind in {"launch", "version"})
        if row.kind == "timeout":
            assert failure.elapsed_ms >= CALL_SECONDS * 1000
            assert report.resources.overshoot_ms is not None
    assert row.warning in "".join(report.warnings)
    assert bool(row.warning) == bool(report.warnings)
    if row.strays >= 0:
        assert report.resources.processes_leaked == row.strays
    assert not any(map(_is_control, report.stderr_tail.replace("\n", "")))


def _is_control(character: str) -> bool:
    return ord(character) < 32


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
    text = "\n".join(lines).replace(FAULTY, "adapter.py") + "\n"
    return _VARYING_NUMBER.sub("N", _VARYING_COMMANDS.sub("(...)", text))


_VARYING_NUMBER = re.compile(
    r"(?<=held )[\d,]+|(?<=had )[\d,]+|(?<=written )[\d,]+|(?<=with it )\d+"
    r"|(?<=and )[\d,]+(?= bytes more)|(?<=line )\d+"
)
# A process that has forked and not yet become another program has its parent's command line.
_VARYING_COMMANDS = re.compile(r"\((?=\S*(?:sleep|python))[^()]*\)")


@pytest.fixture(scope="module")
def busy() -> Iterator[None]:
    with busy_processors():
        yield


@pytest.mark.xdist_group("busy")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_with_every_processor_busy(
    row: Row,
    tmp_path: Path,
    busy: None,
) -> None:
    check(row, anyio.run(drive, row, tmp_path))

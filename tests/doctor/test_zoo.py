"""The doctor names the right trouble of every behaviour of the zoo, and no other."""

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from retryproof.reports.doctor import DoctorReport

from tests.doctor.examining import FAULTY, examined, failing, faulty
from tests.doctor.table import FAILING_CHECK
from tests.golden_files import assert_golden
from tests.zoo.table import ROWS, Row
from tests.zoo.wording import stable

AT_A_TIME = 4


@pytest.fixture(scope="module")
def reports() -> Iterator[Mapping[str, DoctorReport]]:
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        yield dict(workers.map(examine_row, ROWS))


def examine_row(row: Row) -> tuple[str, DoctorReport]:
    return row.name, examined(faulty(*row.arguments), row.time_and_other_limits())


def test_the_table_has_every_behaviour_of_the_zoo() -> None:
    assert list(FAILING_CHECK) == [row.name for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_right_trouble_and_no_other(row: Row, reports: Mapping[str, DoctorReport]) -> None:
    expected = FAILING_CHECK[row.name]
    assert failing(reports[row.name]) == ([] if expected is None else [expected])


def test_the_words(reports: Mapping[str, DoctorReport]) -> None:
    assert_golden("doctor.txt", "\n".join(words(row, reports[row.name]) for row in ROWS))


def words(row: Row, report: DoctorReport) -> str:
    """What the report says of this behaviour, without what differs from run to run."""
    lines = [f"{row.name}: {' '.join(row.arguments)[:80]}"]
    for check in report.checks:
        if check.verdict == "fail":
            lines += [f"  {check.id}: {check.seen}", f"  > {check.mend}"]
    unmade = [check.id for check in report.checks if check.verdict == "not-checked"]
    if unmade:
        lines.append(f"  not checked: {', '.join(unmade)}")
    text = "\n".join(lines).replace(FAULTY, "adapter.py").replace(sys.executable, "python")
    return stable(row, text.replace(report.adapter.cwd, "FOLDER") + "\n")

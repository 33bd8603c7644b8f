"""Every behaviour of the zoo through the daemon: the same verdicts, and a daemon that is well."""

from typing import Any

import pytest
from msgspec.structs import asdict

from tests.daemon.running import Daemon, quick, zoo
from tests.zoo.table import CASES, ROWS, Row


def submission(row: Row, daemon: Daemon) -> dict[str, Any]:
    limits = {
        "".join([first, *map(str.title, rest)]): value
        for name, value in asdict(row.time_and_other_limits()).items()
        for first, *rest in [name.split("_")]
    }
    once = ("--once", str(daemon.folder / row.name))
    return zoo(*once, *row.arguments, limits=limits, cases=CASES, keepGoing=True)


@pytest.mark.soak
def test_every_behaviour() -> None:
    with Daemon("--jobs", "4") as daemon:
        runs = [daemon.submit(submission(row, daemon))["id"] for row in ROWS]
        for row, run in zip(ROWS, runs, strict=True):
            over = daemon.wait_until_over(run)
            assert over["state"] == "finished"
            verdicts = tuple(case["verdict"] for case in over["report"]["cases"])
            assert verdicts == row.expected_verdicts(), row.name
            failures = [case["failure"] for case in over["report"]["cases"] if case["failure"]]
            assert [failure["kind"] for failure in failures] == [row.kind] * len(failures)
        assert daemon.family() == []
        assert daemon.wait_until_over(daemon.submit(quick())["id"])["verdict"] == "pass"
        assert daemon.log == ""

"""A run through the daemon has the report that `retryproof run` gives, in every format."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from retryproof.reports.formats import FORMATS

from tests.cli.command import retryproof
from tests.daemon.described import DescribedDaemon
from tests.daemon.running import FAULTY, REFERENCE
from tests.daemon.sharing import daemon, quiet_afterwards
from tests.daemon.steady import steady
from tests.http_adapter.running import PYTHON_ORDERS, WHOLE_FILE, running
from tests.toolchains import needs

__all__ = ["daemon", "quiet_afterwards"]

FUSE_REFERENCE = str(Path(REFERENCE).with_name("fuse_reference.py"))
ZOO = [sys.executable, "-I", "-S", FAULTY]
FAULTY_REFERENCE = [sys.executable, REFERENCE, "--fault", "sliding-expiry"]
TWO_CASES = ["fixed-expiry", "lost-create"]
OWN_PROFILE = {"create": [200], "replay": "same", "expires_at_deadline": False}
MODULE = {"module": REFERENCE, "python": sys.executable, "cwd": "/"}
FAULTY_FUSE = [sys.executable, FUSE_REFERENCE, "--fault", "budget-blind"]


class Row(NamedTuple):
    """The same run, as the options of `run` and as what is submitted."""

    name: str
    options: list[str]
    submission: dict[str, Any]
    verdict: str


def of_command(
    name: str,
    command: list[str],
    verdict: str,
    options: list[str],
    more_of_adapter: dict[str, Any] | None = None,
    **members: Any,
) -> Row:
    whole = ["--cwd", "/", *options, "--", *command]
    adapter = {"command": command, "cwd": "/", **(more_of_adapter or {})}
    return Row(name, whole, {"adapter": adapter, **members}, verdict)


def cases(names: list[str]) -> list[str]:
    return [word for name in names for word in ("--case", name)]


ROWS = [
    Row(
        "passing",
        ["--cwd", "/", "--python", sys.executable, REFERENCE],
        {"adapter": MODULE},
        "pass",
    ),
    of_command("faulty", FAULTY_REFERENCE, "fail", []),
    of_command(
        "timeout",
        [*ZOO, "step2=hang"],
        "incomplete",
        [*cases(TWO_CASES), "--call-timeout", "0.5", "--max-processes", "7"],
        cases=TWO_CASES,
        limits={"callSeconds": 0.5, "processes": 7},
    ),
    of_command(
        "keep going",
        [*ZOO, "step2=hang-with-a-daemon"],
        "incomplete",
        [*cases(TWO_CASES), "--call-timeout", "0.25", "--keep-going"],
        cases=TWO_CASES,
        limits={"callSeconds": 0.25},
        keepGoing=True,
    ),
    of_command("crash", [*ZOO, "step2=exit-with:3"], "incomplete", []),
    of_command("not there", ["/none/of/it"], "incomplete", []),
    of_command("profile", ZOO, "fail", ["--profile", "stripe"], profile="stripe"),
    of_command(
        "own profile",
        ZOO,
        "fail",
        ["--profile", "own.toml"],
        profile={"name": "own.toml", **OWN_PROFILE},
    ),
    of_command(
        "variables",
        ZOO,
        "pass",
        [*cases(TWO_CASES), "--env", "B=1", "--env", "A=a secret"],
        {"environment": {"B": "1", "A": "a secret"}},
        cases=TWO_CASES,
    ),
    Row(
        "fuse",
        ["--suite", "retryfuse", "--cwd", "/", "--python", sys.executable, FUSE_REFERENCE],
        {"suite": "retryfuse", "adapter": {**MODULE, "module": FUSE_REFERENCE}},
        "pass",
    ),
    of_command("faulty fuse", FAULTY_FUSE, "fail", ["--suite", "retryfuse"], suite="retryfuse"),
]
SANDBOXED = of_command(
    "sandbox",
    ZOO,
    "pass",
    ["--sandbox", "bwrap", "--allow-network"],
    {"sandbox": {"allowNetwork": True}},
)

REPEAT = re.compile(r"^  Repeat it: (?P<command>.*)$", re.MULTILINE)
MEASURED = re.compile(r"^Resources: .*$", re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder from which commands are called."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(
        'create = [200]\nreplay = "same"\nexpires_at_deadline = false\n'
    )
    return tmp_path


def directly(options: list[str]) -> tuple[dict[str, Any], str]:
    """What `retryproof run` makes of it: as JSON, and as text."""
    finished = retryproof("run", "--report", "json=report.json", *options)
    assert finished.stderr == ""
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    assert finished.returncode == report["exitStatus"]
    return report, finished.stdout


def through(daemon: DescribedDaemon, submission: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What the daemon makes of it: as JSON, and as text."""
    run = daemon.wait_until_over(daemon.submit(submission)["id"])
    answers = [
        daemon.client.get(f"/v1/runs/{run['id']}/report", params={"format": name})
        for name in FORMATS
    ]
    assert [answer.headers["Content-Type"] for answer in answers] == [
        "application/json",
        "text/plain; charset=utf-8",
    ]
    report: dict[str, Any] = answers[0].json()
    assert report == run["report"]
    assert (run["verdict"], run["exitStatus"]) == (report["verdict"], report["exitStatus"])
    assert run["counts"] == report["counts"]
    return report, answers[1].text


def without_measurements(text: str) -> str:
    """The text without what it took, and the commands, which name folders in full."""
    assert MEASURED.search(text)
    return REPEAT.sub("", MEASURED.sub("", text))


def compare(daemon: DescribedDaemon, row: Row) -> tuple[dict[str, Any], str]:
    expected, expected_text = directly(row.options)
    report, text = through(daemon, row.submission)
    assert expected["verdict"] == row.verdict
    assert steady(report) == steady(expected)
    assert report["stderrTail"] == expected["stderrTail"]
    assert without_measurements(text) == without_measurements(expected_text)
    return report, text


def repeat_commands(text: str) -> Iterator[list[str]]:
    """The arguments of the commands that a report gives, for `retryproof`."""
    for found in REPEAT.finditer(text):
        program, *arguments = shlex.split(found["command"])
        assert program == "retryproof"
        yield arguments


def check_repeats(report: dict[str, Any], text: str) -> None:
    """The first command that the text gives runs that case once more, in the same way."""
    differing = [case for case in report["cases"] if case["verdict"] in {"fail", "incomplete"}]
    commands = list(repeat_commands(text))
    assert len(commands) == len(differing)
    for (_, *arguments), case in zip(commands[:1], differing, strict=False):
        again, _ = directly(arguments)
        assert steady(again["cases"]) == [steady(case)]
        for part in ("adapter", "limits", "profile", "deviations", "contract"):
            assert again[part] == report[part], part


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_report_is_that_of_run(daemon: DescribedDaemon, row: Row) -> None:
    report, text = compare(daemon, row)
    assert "a secret" not in json.dumps(report) + text
    if row.name != "own profile":
        check_repeats(report, text)


def test_a_profile_of_ones_own_is_to_be_filled_in(daemon: DescribedDaemon) -> None:
    (row,) = [row for row in ROWS if row.name == "own profile"]
    _, text = through(daemon, row.submission)
    for arguments in repeat_commands(text):
        assert arguments[:3] == ["run", "--profile", "...own.toml"]


@needs("bwrap")
def test_a_sandboxed_one_too(daemon: DescribedDaemon) -> None:
    report, _ = compare(daemon, SANDBOXED)
    assert report["adapter"]["sandbox"] == {"network": True, "writable": []}
    assert report["containment"] == "bwrap"


def test_an_http_service_too(daemon: DescribedDaemon, folder: Path) -> None:
    file = folder / "service.toml"
    with running(*PYTHON_ORDERS, "--fault", "body-blind") as port:
        file.write_text(WHOLE_FILE.format(port=port))
        row = Row("http", ["--http", str(file)], {"adapter": {"http": str(file)}}, "fail")
        report, text = compare(daemon, row)
        check_repeats(report, text)
    assert report["diagnosis"]["fault"] == "body-blind"


def test_a_run_of_no_answer_at_all_has_a_report(daemon: DescribedDaemon) -> None:
    row = of_command(
        "silent",
        ["/bin/sleep", "1000"],
        "incomplete",
        ["--startup-timeout", "0.3"],
        limits={"startupSeconds": 0.3},
    )
    report, _ = compare(daemon, row)
    assert report["cases"][0]["failure"]["kind"] == "launch"


def test_the_report_is_indented_for_people_as_that_of_run(daemon: DescribedDaemon) -> None:
    run = daemon.wait_until_over(daemon.submit(ROWS[0].submission)["id"])["id"]
    text = daemon.client.get(f"/v1/runs/{run}/report").text
    assert text.startswith('{\n  "schema": "retryproof.report/1",\n')
    assert text.endswith("}\n")

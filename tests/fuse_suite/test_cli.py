"""`--suite retryfuse`, as its users meet it."""

import json
import shlex
import sys

from tests.cli.command import retryproof, retryproof_json
from tests.fuse.matrix import CASES as FILES
from tests.fuse_suite.driving import FEW, MATRIX, REFERENCE

SUITE = ("run", "--suite", "retryfuse")
CORRECT = ("--python", sys.executable, REFERENCE)
CHOSEN = tuple(argument for name in (*FEW, "misspelt-record") for argument in ("--case", name))


def test_a_correct_adapter_passes_with_status_0() -> None:
    finished = retryproof(*SUITE, *CORRECT)

    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    planned = len(MATRIX.cases)
    assert (
        lines[0]
        == f"pass: {planned} cases planned: {planned} passed, 0 failed, 0 incomplete, 0 not run"
    )
    assert sum(line.startswith("  pass ") for line in lines) == 5
    assert (
        f"Not sent: {len(MATRIX.unsendable)} further cases of the matrix. They are texts or "
        in (finished.stdout)
    )


def test_a_failed_case_is_told_with_its_reason_and_the_command_that_repeats_it() -> None:
    finished = retryproof(
        *SUITE, *CHOSEN, "--", sys.executable, REFERENCE, "--fault", "brake-first"
    )

    assert finished.returncode == 1
    start = finished.stdout.index("FAIL rows-1-and-3 (adversarial)")
    told = finished.stdout[start:].split("\n\n")[0].splitlines()
    labels = [line.partition(":")[0].strip() for line in told[1:]]
    assert labels[:5] == ["The input", "Expected", "Observed", "Why", "The advice"]
    assert labels[5:] == ["Resembles", "Resembles", "Repeat it"]
    assert told[2:4] == ["  Expected: reject_conflict (fail)", "  Observed: brake (fail)"]
    again = retryproof(*shlex.split(told[-1].removeprefix("  Repeat it: retryproof ")))
    assert again.returncode == 1
    assert again.stdout.startswith("FAIL: 1 case planned: 0 passed, 1 failed")


def test_json_is_the_only_thing_on_stdout_and_equals_the_report_file(tmp_path: object) -> None:
    path = f"{tmp_path}/report.json"

    report = retryproof_json(*SUITE, *CHOSEN, "--report", f"json={path}", *CORRECT)

    assert report["schema"] == "retryproof.fuse-report/1"
    assert report["counts"]["passed"] == len(FEW) + 1
    with open(path) as file:
        assert json.load(file)["cases"] == report["cases"]


def test_verbose_shows_the_conversation() -> None:
    finished = retryproof(*SUITE, "-v", "--case", "no-key", *CORRECT)

    assert '"method":"evaluate"' in finished.stderr
    assert '"decision": "replay_stored"' in finished.stderr


def test_what_is_for_the_retry_suite_is_refused() -> None:
    finished = retryproof(*SUITE, "--profile", "ietf", *CORRECT)

    assert finished.returncode == 2
    assert "--http and --profile are for the suite retry." in finished.stderr


def test_the_matrix_is_printed_as_one_document() -> None:
    document = json.loads(retryproof("fixtures", "--suite", "retryfuse").stdout)

    assert document["schema"] == "retryproof.fuse-matrix/1"
    assert document["digest"] == MATRIX.digest
    assert len(document["cases"]) == len(FILES)


def test_the_retry_contract_is_what_is_printed_otherwise() -> None:
    printed = retryproof("fixtures").stdout

    assert json.loads(printed)["name"] == "retry-conformance"
    assert printed == retryproof("fixtures", "--suite", "retry").stdout

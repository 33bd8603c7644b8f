"""Real services behind real sockets: correct, and with each known fault, in two languages."""

from pathlib import Path

import pytest
from retryproof.contract.model import FAULTS

from tests.driving import CASE_NAMES, case_of
from tests.http_adapter.running import (
    NODE_ORDERS,
    PYTHON_ORDERS,
    WHOLE_FILE,
    free_port,
    run_service,
    running,
)
from tests.toolchains import needs_node

NODE_FILE = (
    WHOLE_FILE.replace('count = "/count"', "")
    .replace('receipt = "/id"', 'receipt = "header:Location"')
    .replace("[reset]", '[[reset]]\nrequest = "POST /test/clock"\njson = {{ now = 0 }}\n[[reset]]')
)
SERVICES = [
    pytest.param(PYTHON_ORDERS, WHOLE_FILE, id="python"),
    pytest.param(NODE_ORDERS, NODE_FILE, id="node", marks=needs_node),
]


@pytest.mark.parametrize(("argv", "file"), SERVICES)
def test_a_correct_service_passes(tmp_path: Path, argv: tuple[str, ...], file: str) -> None:
    with running(*argv) as port:
        report = run_service(tmp_path, file.format(port=port))
    assert report.verdict == "pass"
    assert report.counts.passed == len(CASE_NAMES) == 7
    assert report.warnings == ()
    assert report.adapter.name == f"http://127.0.0.1:{port}"
    assert report.adapter.host == "http"
    assert report.adapter.language is None


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("argv", "file"), SERVICES)
def test_each_fault_is_found_and_named(
    tmp_path: Path, argv: tuple[str, ...], file: str, fault: str
) -> None:
    with running(*argv, "--fault", fault) as port:
        report = run_service(tmp_path, file.format(port=port))
    assert report.verdict == "fail"
    assert report.diagnosis.fault == fault


@pytest.mark.parametrize("fault", [None, "sliding-expiry"])
@pytest.mark.parametrize(("argv", "file"), SERVICES)
def test_a_service_is_started_and_stopped(
    tmp_path: Path, argv: tuple[str, ...], file: str, fault: str | None
) -> None:
    port = free_port()
    command = [*argv, "--port", str(port), *(() if fault is None else ("--fault", fault))]
    report = run_service(tmp_path, f"{file.format(port=port)}\n[start]\ncommand = {command}\n")
    assert report.diagnosis.fault == fault
    assert report.verdict == ("pass" if fault is None else "fail")
    assert report.warnings == ()
    assert report.resources.processes_leaked == 0
    # What it prints is in the log, and never in the protocol.
    assert f"listening on {port}\n" in report.stderr_tail


def test_a_service_without_a_reset_is_counted_from_where_it_stands(tmp_path: Path) -> None:
    file = WHOLE_FILE.replace('[reset]\nrequest = "POST /test/reset"\n', "")
    with running(*PYTHON_ORDERS) as port:
        for _ in range(2):
            report = run_service(tmp_path, file.format(port=port))
            assert report.verdict == "pass"


def test_keys_that_are_no_uuids_need_a_reset(tmp_path: Path) -> None:
    file = WHOLE_FILE.replace("{{key_uuid}}", "{{key}}")
    with running(*PYTHON_ORDERS) as port:
        assert run_service(tmp_path, file.format(port=port)).verdict == "pass"


def test_an_answer_that_is_lost_in_earnest_is_no_trouble(tmp_path: Path) -> None:
    with running(*PYTHON_ORDERS, "--hang-up") as port:
        report = run_service(tmp_path, WHOLE_FILE.format(port=port))
    assert report.verdict == "pass"
    assert case_of(report, "lost-create").verdict == "pass"

"""Services without a test clock: their keys live for 1.2 s, and a tick is 0.2 s."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from retryproof.reports.report import Report

from tests.driving import case_of
from tests.http_adapter.running import (
    PYTHON_ORDERS,
    SERVICES,
    WHOLE_FILE,
    free_port,
    run_service,
    running,
)
from tests.toolchains import needs

ATTEMPTS = 3
EXPIRY = ("fixed-expiry", "new-body-after-expiry")
REAL_TIME_FILE = WHOLE_FILE.replace(
    'request = "POST /test/clock"\njson = {{ now = "{{at}}" }}', "seconds_per_tick = 0.2"
)
REDIS_FILE = """
base_url = "http://127.0.0.1:{port}"
[start]
command = ["{python}", "{service}", "--redis", "{redis}", "--retention-ms", "1200",
           "--port", "{port}"{fault}]
[reset]
command = ["redis-cli", "-p", "{redis}", "FLUSHALL"]
[clock]
seconds_per_tick = 0.2
[step]
request = "POST /orders"
headers = {{ "Idempotency-Key" = "{{key}}" }}
json = {{ item = "{{value}}" }}
receipt = "/order/number"
[writes]
command = ["redis-cli", "-p", "{redis}", "LLEN", "orders"]
"""


def run_in_time(folder: Path, text: str, fault: str | None, cases: tuple[str, ...] = ()) -> Report:
    """Runs again where this machine was so busy that a request came more than a tick late."""
    for _ in range(ATTEMPTS):
        report = run_service(folder, text, cases=cases)
        if (report.verdict == "pass") == (fault is None) and report.diagnosis.fault == fault:
            break
    return report


@pytest.mark.parametrize("fault", [None, "sliding-expiry"])
def test_a_service_in_real_time(tmp_path: Path, fault: str | None) -> None:
    options = () if fault is None else ("--fault", fault)
    with running(*PYTHON_ORDERS, "--retention", "1.2", *options) as port:
        report = run_in_time(tmp_path, REAL_TIME_FILE.format(port=port), fault, EXPIRY)
    assert report.adapter.seconds_per_tick == 0.2
    assert report.diagnosis.fault == fault
    assert case_of(report, "fixed-expiry").verdict == ("pass" if fault is None else "fail")
    assert case_of(report, "new-body-after-expiry").verdict == "pass"


@pytest.fixture
def redis() -> Iterator[int]:
    port = free_port()
    options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "")
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until_it_listens(port)
            yield port
        finally:
            process.kill()


def wait_until_it_listens(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("Redis does not listen")


@needs("redis-server")
@pytest.mark.parametrize("fault", [None, "sliding-expiry"])
def test_a_service_with_its_records_in_redis(tmp_path: Path, redis: int, fault: str | None) -> None:
    text = REDIS_FILE.format(
        port=free_port(),
        python=sys.executable,
        service=SERVICES / "redis_orders.py",
        redis=redis,
        fault="" if fault is None else f', "--fault", "{fault}"',
    )
    report = run_in_time(tmp_path, text, fault)
    assert report.diagnosis.fault == fault
    assert report.verdict == ("pass" if fault is None else "fail")
    assert report.warnings == ()

"""Our own daemon keeps the contract that this project tests, and the test of it bites."""

import contextlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from retryproof.contract.model import FAULTS

from tests.bundle import BUNDLE
from tests.cli.command import retryproof_json
from tests.daemon import clocked_daemon
from tests.daemon.running import Daemon, endless, quick
from tests.driving import CASE_NAMES

SERVICE = """
base_url = "{url}"
[clock]
request = "POST {clock}"
json = {{ now = "{{at}}" }}
[step]
request = "POST /v1/runs"
headers = {{ Authorization = "Bearer {token}", Idempotency-Key = "{{key_uuid}}", \
X-Delivery = "{{delivery}}" }}
json = {submission}
receipt = "/id"
[writes]
request = "GET /v1/runs?limit=1"
headers = {{ Authorization = "Bearer {token}" }}
count = "/total"
"""
SECOND = 1 / clocked_daemon.TICK_SECONDS
"""Of a tick."""
UNNAMED = {"a second too long": "fixed-expiry", "a tick too short": "fixed-expiry"}
AT_ONCE = 50


class ClockedDaemon(Daemon):
    """A daemon whose clock stands at tick 0 until it is set."""

    def __init__(self, fault: str | None = None) -> None:
        super().__init__(*(() if fault is None else ("--fault", fault)))

    @property
    def command(self) -> list[str]:
        """The command that is run."""
        places = ["--socket", str(self.socket), "--state", str(self.state)]
        return [sys.executable, clocked_daemon.__file__, *places, *self._options]

    @property
    def clock(self) -> str:
        """Where its clock can be set."""
        return self.ready_line.rpartition("; clock: ")[2].strip()

    def set_clock(self, tick: float) -> None:
        """Puts its clock to this tick."""
        assert httpx2.post(self.clock, json={"now": tick}).status_code == 204

    def post(self, key: str, submission: dict[str, Any]) -> httpx2.Response:
        """The answer to a submission under this key."""
        return self.client.post(
            "/v1/runs", json=submission, headers={"Idempotency-Key": key, "X-Delivery": "received"}
        )


@pytest.fixture
def daemon(nothing_is_left: None) -> Iterator[ClockedDaemon]:
    """A correct one."""
    with ClockedDaemon() as daemon:
        yield daemon


def drive(daemon: ClockedDaemon, folder: Path) -> dict[str, Any]:
    """The report of `retryproof run --http` against the daemon."""
    file = folder / "service.toml"
    submission = quick(cases=["matching-replay"], client="{value}")
    text = SERVICE.format(
        url=daemon.url, clock=daemon.clock, token=daemon.token, submission=as_toml(submission)
    )
    file.write_text(text)
    return retryproof_json("run", "--http", str(file))


def as_toml(value: Any) -> str:
    """A JSON value as an inline table of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


def test_our_own_daemon_keeps_all_promises_of_the_contract(
    daemon: ClockedDaemon, tmp_path: Path
) -> None:
    report = drive(daemon, tmp_path)
    assert report["verdict"] == "pass", report["cases"]
    assert report["counts"] == {
        "planned": 7, "passed": 7, "failed": 0, "incomplete": 0, "notRun": 0
    }  # fmt: skip
    assert [case["name"] for case in report["cases"]] == list(CASE_NAMES)
    assert (report["exitStatus"], report["profile"], report["deviations"]) == (0, "seed", [])
    assert report["contract"]["digest"] == BUNDLE.digest
    made = daemon.client.get("/v1/runs").json()["total"]
    assert made == sum(case.expected[-1].committed_writes for case in BUNDLE.cases)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_daemon_with_a_fault_of_the_contract_is_found_out(fault: str, tmp_path: Path) -> None:
    with ClockedDaemon(fault) as daemon:
        report = drive(daemon, tmp_path)
    assert (report["verdict"], report["exitStatus"]) == ("fail", 1)
    assert report["diagnosis"]["fault"] == fault
    failed = {case["name"] for case in report["cases"] if case["verdict"] == "fail"}
    assert failed == set(BUNDLE.fault(fault).caught_by)


@pytest.mark.parametrize(("fault", "case"), UNNAMED.items())
def test_a_daemon_that_misses_the_deadline_is_found_out(
    fault: str, case: str, tmp_path: Path
) -> None:
    with ClockedDaemon(fault) as daemon:
        report = drive(daemon, tmp_path)
    assert report["verdict"] == "fail"
    assert case in {case["name"] for case in report["cases"] if case["verdict"] == "fail"}


def test_a_key_lives_to_the_second_and_no_replay_extends_it(daemon: ClockedDaemon) -> None:
    first = daemon.post("key", quick())
    assert first.status_code == 201
    for tick in (0, SECOND, 3, 5, 6 - SECOND):
        daemon.set_clock(tick)
        assert daemon.post("key", quick(client="another")).status_code == 409
        replay = daemon.post("key", quick())
        assert (replay.status_code, replay.json()["id"]) == (200, first.json()["id"])
    daemon.set_clock(6)
    second = daemon.post("key", quick(client="another"))
    assert (second.status_code, second.json()["id"] == first.json()["id"]) == (201, False)
    assert second.json()["createdAt"] == "2025-06-16T15:06:40.000+00:00"
    daemon.set_clock(12 - SECOND)
    assert daemon.post("key", quick()).status_code == 409
    daemon.set_clock(12)
    assert daemon.post("key", quick()).status_code == 201
    found = daemon.client.get("/v1/runs", params={"key": "key"}).json()
    assert found["total"] == 3


class Answer(NamedTuple):
    """What came of one of many submissions."""

    status: int
    location: str | None
    document: dict[str, Any]


def overlapping(daemon: Daemon, submissions: list[dict[str, Any]]) -> list[Answer]:
    """The answers to submissions under one key that are all sent at the same moment."""
    everybody = threading.Barrier(len(submissions))

    def post(submission: dict[str, Any]) -> Answer:
        with contextlib.closing(daemon.connection()) as connection:
            connection.connect()
            everybody.wait()
            headers = {"Idempotency-Key": "key"}
            connection.request("POST", "/v1/runs", json.dumps(submission), headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheader("Location"), json.load(answer))

    with ThreadPoolExecutor(len(submissions)) as pool:
        return list(pool.map(post, submissions))


def test_overlapping_requests_with_one_key_and_body_make_one_run() -> None:
    with Daemon() as daemon:
        answers = overlapping(daemon, [quick()] * AT_ONCE)
        assert Counter(answer.status for answer in answers) == {201: 1, 200: AT_ONCE - 1}
        (run,) = {answer.document["id"] for answer in answers}
        assert {answer.location for answer in answers} == {f"/v1/runs/{run}"}
        assert daemon.wait_until_over(run)["verdict"] == "pass"
        assert daemon.client.get("/v1/runs").json()["total"] == 1


def test_of_overlapping_requests_with_one_key_and_other_bodies_one_makes_a_run() -> None:
    with Daemon() as daemon:
        answers = overlapping(daemon, [quick(client=str(n)) for n in range(AT_ONCE)])
        assert Counter(answer.status for answer in answers) == {201: 1, 409: AT_ONCE - 1}
        (made,) = [answer.document for answer in answers if answer.status == 201]
        (known,) = daemon.client.get("/v1/runs").json()["runs"]
        assert known["id"] == made["id"]
        codes = {a.document["error"]["code"] for a in answers if a.status == 409}
        assert codes == {"key-reused"}


def test_a_replay_shows_the_run_as_it_is_now(daemon: ClockedDaemon) -> None:
    run = daemon.post("key", endless()).json()
    assert run["state"] == "queued"
    daemon.wait_for_call(run["id"])
    assert daemon.post("key", endless()).json()["state"] == "running"
    daemon.cancel(run["id"])
    daemon.wait_until(run["id"], "cancelled")
    replay = daemon.post("key", endless())
    assert (replay.status_code, replay.json()["state"]) == (200, "cancelled")


def test_a_replay_needs_none_of_the_adapters_files(daemon: ClockedDaemon, tmp_path: Path) -> None:
    file = tmp_path / "adapter.py"
    file.write_text("def reset(): ...\ndef step(operation): ...\n")
    adapter = {"module": str(file), "cwd": str(tmp_path), "python": sys.executable}
    first = daemon.post("key", {"adapter": adapter})
    assert first.status_code == 201
    daemon.wait_until_over(first.json()["id"])
    file.unlink()
    replay = daemon.post("key", {"adapter": adapter})
    assert (replay.status_code, replay.json()["id"]) == (200, first.json()["id"])
    assert daemon.post("key", {"adapter": adapter, "client": "b"}).status_code == 409
    assert daemon.post("another", {"adapter": adapter}).status_code == 400


def test_keys_outlive_a_daemon_that_was_killed(daemon: ClockedDaemon) -> None:
    first = daemon.post("key", endless()).json()
    daemon.wait_for_call(first["id"])
    daemon.kill()
    daemon.restart()
    daemon.set_clock(6 - SECOND)
    replay = daemon.post("key", endless())
    assert (replay.status_code, replay.json()["id"]) == (200, first["id"])
    assert replay.json()["state"] == "interrupted"
    assert daemon.post("key", quick()).status_code == 409
    daemon.set_clock(6)
    assert daemon.post("key", quick()).status_code == 201


def test_keys_outlive_a_daemon_that_was_stopped(daemon: ClockedDaemon) -> None:
    first = daemon.post("key", quick()).json()
    daemon.wait_until_over(first["id"])
    assert daemon.stop() == 0
    daemon.restart()
    replay = daemon.post("key", quick())
    assert (replay.status_code, replay.json()["id"]) == (200, first["id"])
    assert daemon.post("key", quick(client="another")).status_code == 409


SPELLINGS: tuple[tuple[Callable[[str], str], int], ...] = (
    (lambda text: text.replace(": ", "  :\n"), 200),
    (lambda text: json.dumps(dict(reversed(json.loads(text).items()))), 200),
    (lambda text: text.replace("1.5", "15e-1"), 200),
    (lambda text: text.replace("1.5", "1.50001"), 409),
    # What is usual, said as well, is another body.
    (lambda text: text.replace("1.5", '1.5, "processes": 256'), 409),
)


def test_a_body_is_told_by_what_it_says_not_by_how(daemon: ClockedDaemon) -> None:
    text = json.dumps(quick(limits={"callSeconds": 1.5}))
    headers = {"Idempotency-Key": "key"}
    assert daemon.client.post("/v1/runs", content=text, headers=headers).status_code == 201
    for respell, status in SPELLINGS:
        other = respell(text)
        assert other != text
        answer = daemon.client.post("/v1/runs", content=other, headers=headers)
        assert answer.status_code == status, other


def test_a_refused_request_uses_up_no_key(daemon: ClockedDaemon) -> None:
    assert daemon.post("key", quick(cases=["none"])).status_code == 400
    assert daemon.post("key", {"adapter": {}}).status_code == 400
    assert daemon.post("key", quick()).status_code == 201
    # What can't be read at all is refused for that, whatever its key.
    assert daemon.post("key", {"adapter": {}}).status_code == 400
    assert daemon.post("key", quick()).status_code == 200

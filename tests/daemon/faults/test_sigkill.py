"""SIGKILL of the daemon at any moment, under load: nothing that was accepted is lost."""

import http.client
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple

import pytest
from retryproof.daemon.archive import MAX_RERUNS

from tests.daemon.running import PATIENCE_SECONDS, Daemon, Message, read_messages, zoo
from tests.daemon.steady import steady

MANY = 100
CLIENTS = 6
LATEST_SECONDS = 1.0
"""From the daemon's being ready to its death: several runs are driven in that time."""
GONE_SECONDS = 1.0
_PATIENT = {"callSeconds": 60.0}
_SHORT = {"callSeconds": 0.5}
SELDOM = 6
"""One of so many of the slow kinds is run again: if all were, they would soon fill every place."""
LOST = (OSError, http.client.HTTPException)
"""What a client gets whose daemon dies, or is not there."""
KINDS: Mapping[str, dict[str, Any]] = {
    "quick": zoo(limits=_PATIENT),
    "slow": zoo("step2=answer-late:0.1", "step5=answer-late:0.1", limits=_PATIENT),
    "crashing": zoo("step2=exit-with:3", limits=_PATIENT, keepGoing=True, cases=["lost-create"]),
    "hanging": zoo("step2=hang", limits=_SHORT),
    "deaf": zoo("step2=hang-deaf", limits=_SHORT),
    "forking": zoo("step2=hang-with-children-in-sessions:3", limits=_SHORT),
    "daemonizing": zoo("step2=hang-with-a-daemon-without-environment", limits=_SHORT),
    "leaving": zoo("step3=leave-a-child", limits=_PATIENT),
}


class Taken(NamedTuple):
    """A run that was answered 201 or 200, and what its client was told of it until it died."""

    key: str
    run: str
    kind: str
    on_interrupt: str
    told: list[Message]


class Client(threading.Thread):
    """Submits one run after the other and follows each, whatever becomes of the daemon."""

    def __init__(
        self,
        daemon: Daemon,
        chooser: random.Random,
        ready: threading.Event,
        enough: threading.Event,
    ) -> None:
        super().__init__(name=f"client {chooser.random()}")
        self.taken: list[Taken] = []
        self.refusals: list[bytes] = []
        self._daemon = daemon
        self._chooser = chooser
        self._ready = ready
        self._enough = enough

    def run(self) -> None:
        while not self._enough.is_set():
            kind = self._chooser.choice([*KINDS])
            is_slow = KINDS[kind]["limits"] == _SHORT
            others = SELDOM - 1 if is_slow else 1
            on_interrupt = self._chooser.choice(["rerun", *["end"] * others])
            body = {**KINDS[kind], "onInterrupt": on_interrupt, "client": self.name}
            # A key, so that a request whose answer was lost makes one run, not two.
            if (taken := self._submit(uuid.uuid4().hex, kind, body)) is not None:
                self.taken.append(taken)
                self._follow(taken)

    def _submit(self, key: str, kind: str, body: dict[str, Any]) -> Taken | None:
        headers = {"Idempotency-Key": key}
        while self._ready.wait(PATIENCE_SECONDS):
            with closing(self._daemon.connection()) as connection, suppress(*LOST):
                connection.request("POST", "/v1/runs", json.dumps(body), headers)
                answer = connection.getresponse()
                content = answer.read()
                if answer.status in {200, 201}:
                    return Taken(key, json.loads(content)["id"], kind, body["onInterrupt"], [])
                self.refusals.append(content)
        return None

    def _follow(self, taken: Taken) -> None:
        with closing(self._daemon.connection()) as connection, suppress(*LOST):
            connection.request("GET", f"/v1/runs/{taken.run}/events")
            lines = (line.decode().rstrip("\n") for line in connection.getresponse())
            for message in read_messages(lines):
                taken.told.append(message)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(8, id="8-moments"),
        pytest.param(MANY, id="100-moments", marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
def test_sigkill_under_load(moments: int) -> None:
    seed = random.randrange(1_000_000) if moments == MANY else 22
    print(f"seed {seed}")  # noqa: T201 - to have it again
    chooser = random.Random(seed)
    with Daemon("--jobs", "4") as daemon:
        undisturbed = {kind: undisturbed_report(daemon, kind) for kind in KINDS}
        ready, enough = threading.Event(), threading.Event()
        clients = [
            Client(daemon, random.Random(f"{seed} {number}"), ready, enough)
            for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        try:
            gone_after = [kill_and_restart(daemon, chooser, ready) for _ in range(moments)]
        finally:
            enough.set()
            ready.set()
            for client in clients:
                client.join()
        taken = [run for client in clients for run in client.taken]
        assert [client.refusals for client in clients] == [[]] * CLIENTS
        assert len(taken) >= moments
        ended = Counter(check(daemon, run, undisturbed[run.kind]) for run in taken)
        told = f"{len(taken)} runs: {ended}; all gone after {max(gone_after):.3f} s"
        print(told)  # noqa: T201 - for whoever asks for it with -s
        assert daemon.readiness()[1]["queued"] == 0
        assert "Traceback" not in daemon.log
    assert max(gone_after) < GONE_SECONDS
    if moments >= MANY:
        assert min(ended[end] for end in ("finished", "run again", "interrupted")) > MANY / 10


def undisturbed_report(daemon: Daemon, kind: str) -> dict[str, Any]:
    return dict(daemon.wait_until_over(daemon.submit(KINDS[kind])["id"])["report"])


def kill_and_restart(daemon: Daemon, chooser: random.Random, ready: threading.Event) -> float:
    ready.set()
    time.sleep(chooser.uniform(0, LATEST_SECONDS))
    seconds = daemon.kill()
    ready.clear()
    daemon.restart()
    return seconds


def check(daemon: Daemon, taken: Taken, undisturbed: dict[str, Any]) -> str:
    """The run ended as it may, with all that its client was told; what became of it."""
    run = daemon.wait_until_over(taken.run)
    assert daemon.client.get("/v1/runs", params={"key": taken.key}).json()["total"] == 1
    events = [event for event in daemon.events(taken.run) if event.kind != "end"]
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    told = [event for event in taken.told if event.kind != "end"]
    assert told == events[: len(told)]
    attempts = [event for event in events if event.kind == "RunStarted"]
    if run["state"] == "finished":
        assert steady(run["report"]) == steady(undisturbed)
        return "finished" if len(attempts) == 1 else "run again"
    assert run["state"] == "interrupted"
    assert len(attempts) == (1 if taken.on_interrupt == "end" else MAX_RERUNS + 1)
    check_interrupted(run, undisturbed)
    return "interrupted"


def check_interrupted(run: dict[str, Any], undisturbed: dict[str, Any]) -> None:
    report = run["report"]
    assert run["verdict"] == report["verdict"]
    assert run["exitStatus"] == report["exitStatus"] == 1
    assert run["counts"] == report["counts"]
    assert report["interruptedBy"] == "daemon death"
    verdicts = [case["verdict"] for case in report["cases"]]
    assert sum(report["counts"].values()) == 2 * len(verdicts) == 2 * report["counts"]["planned"]
    for case, whole in zip(report["cases"], undisturbed["cases"], strict=True):
        failure = case["failure"]
        if failure is not None and failure["kind"] == "interrupted":
            assert case["verdict"] == "incomplete"
            assert not failure["definite"]
            assert "unknown" in failure["message"]
            known = [step["actual"] for step in case["steps"] if step["actual"] is not None]
            assert known == [step["actual"] for step in whole["steps"]][: len(known)]
        elif case["verdict"] != "not-run":
            assert steady(case) == steady(whole)
    if {"incomplete", "not-run"}.isdisjoint(verdicts):  # It died while the adapter was leaving.
        assert report["verdict"] == undisturbed["verdict"]
    else:
        assert report["verdict"] == "incomplete"
    # What comes after the case that was in the middle was not run.
    started = [verdict for verdict in verdicts if verdict != "not-run"]
    assert verdicts == [*started, *["not-run"] * (len(verdicts) - len(started))]

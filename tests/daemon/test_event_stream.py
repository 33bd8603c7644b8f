"""What happens in a run, as a follower is told: in order, without gaps, from anywhere on."""

import contextlib
from collections.abc import Iterable
from typing import Any

import httpx2
import msgspec
import pytest
from msgspec.structs import replace
from retryproof.api.events import read_event
from retryproof.app import fuse_matrix
from retryproof.contract.profile import SEED
from retryproof.events import RunStarted
from retryproof.suites import FuseSuite, RetrySuite, Suite

from tests.daemon.described import DescribedDaemon
from tests.daemon.running import (
    PATIENCE_SECONDS,
    Daemon,
    Message,
    endless,
    quick,
    read_messages,
    zoo,
)
from tests.daemon.sharing import daemon, quiet_afterwards
from tests.daemon.test_reports import FAULTY_FUSE
from tests.driving import BUNDLE

__all__ = ["daemon", "quiet_afterwards"]

ONE_CASE = ["matching-replay"]
RETRY, FUSE = RetrySuite(BUNDLE), FuseSuite(fuse_matrix())


def told(daemon: Daemon, run: str, after: int = 0, query: str = "") -> list[Message]:
    """All messages of a stream that ends by itself."""
    headers = {"Last-Event-ID": str(after)}
    with daemon.client.stream("GET", f"/v1/runs/{run}/events{query}", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].partition(";")[0] == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        return list(read_messages(answer.iter_lines()))


def assert_whole(messages: list[Message], start: int = 1) -> None:
    """Numbered on without gaps, and ended by `end` alone."""
    *events, end = messages
    assert [event.number for event in events] == list(range(start, start + len(events)))
    assert end.kind == "end"
    assert all(event.kind == event.data["type"] for event in events)


def report_of(suite: Suite[Any], events: Iterable[Message]) -> Any:
    """The fold over what a follower was told; of the cases it is told the names."""
    named = {name: script.case for name, script in suite.scripts((), SEED).items()}
    log = suite.new_log()
    for message in events:
        event = read_event(msgspec.json.encode(message.data))
        if isinstance(event, RunStarted):
            event = replace(event, cases=tuple(named[case.name] for case in event.cases))
        log(event)
    return log.report()


def run_to_its_end(daemon: Daemon, submission: dict[str, Any]) -> dict[str, Any]:
    return daemon.wait_until_over(daemon.submit(submission)["id"])


@pytest.mark.parametrize(
    ("suite", "submission"),
    [
        (RETRY, quick()),
        (RETRY, zoo("step2=exit-with:3", keepGoing=True)),
        (RETRY, zoo("step2=hang", limits={"callSeconds": 0.25}, cases=ONE_CASE)),
        (FUSE, {"suite": "retryfuse", "adapter": {"command": FAULTY_FUSE, "cwd": "/"}}),
    ],
    ids=["passing", "crashing", "hanging", "fuse"],
)
def test_a_report_is_the_fold_of_what_was_told(
    daemon: DescribedDaemon, suite: Suite[Any], submission: dict[str, Any]
) -> None:
    run = run_to_its_end(daemon, submission)
    *events, end = messages = told(daemon, run["id"])
    assert_whole(messages)
    assert (events[0].kind, events[-1].kind) == ("RunStarted", "RunEnded")
    assert {**end.data, "report": run["report"]} == run
    daemon.description.validate(end.data, {"$ref": "#/components/schemas/RunView"})
    report = report_of(suite, events)
    assert msgspec.json.decode(msgspec.json.encode(report)) == run["report"]


def test_from_every_event_on_exactly_the_rest_is_told(daemon: DescribedDaemon) -> None:
    run = run_to_its_end(daemon, quick(cases=ONE_CASE))["id"]
    whole = told(daemon, run)
    for number in range(len(whole)):
        assert told(daemon, run, after=number) == whole[number:]
    assert told(daemon, run, after=999_999_999_999_999) == whole[-1:]


def test_a_browser_asks_on_without_a_number_at_first(daemon: DescribedDaemon) -> None:
    run = run_to_its_end(daemon, quick(cases=ONE_CASE))["id"]
    with daemon.client.stream("GET", f"/v1/runs/{run}/events") as answer:
        assert list(read_messages(answer.iter_lines())) == told(daemon, run)


def test_what_is_no_number_of_an_event_is_refused(daemon: DescribedDaemon) -> None:
    run = run_to_its_end(daemon, quick(cases=ONE_CASE))["id"]
    for last in ("", "-1", "1.5", "x", "1 2", "1" * 16, "\u00b2"):
        headers = {b"Last-Event-ID": last.encode()}
        answer = daemon.client.get(f"/v1/runs/{run}/events", headers=headers)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "bad-last-event-id"), last


def test_a_follower_hears_of_what_happens_until_the_end(daemon: DescribedDaemon) -> None:
    run = daemon.submit(endless())["id"]
    heard = []
    for message in daemon.events(run):
        heard.append(message)
        if message.kind == "CallStarted" and message.data["call"]["step"] == 1:
            daemon.cancel(run)
    assert_whole(heard)
    assert heard == told(daemon, run)
    assert heard[-1].data["state"] == "cancelled"


def test_a_follower_that_comes_back_misses_nothing(daemon: DescribedDaemon) -> None:
    run = daemon.submit(endless())["id"]
    with contextlib.closing(daemon.events(run)) as events:
        heard = [next(events) for _ in range(3)]
    with contextlib.closing(daemon.events(run, after=3)) as events:
        heard += [next(events) for _ in range(2)]
    daemon.cancel(run)
    heard += daemon.events(run, after=5)
    assert_whole(heard)
    assert heard == told(daemon, run)


def test_who_follows_a_run_that_waits_hears_of_its_start(daemon: DescribedDaemon) -> None:
    busy = [daemon.submit(endless())["id"] for _ in range(2)]
    run = daemon.submit(quick(cases=ONE_CASE))["id"]
    path = f"/v1/runs/{run}/events"
    with daemon.client.stream("GET", path) as answer:
        # The head of the answer is there: from here on the daemon waits for news of the run.
        assert daemon.get(run)["state"] == "queued"
        for other in busy:
            daemon.cancel(other)
        assert_whole(list(read_messages(answer.iter_lines())))
    for other in busy:
        daemon.wait_until_over(other)


def test_without_following_it_ends_with_what_has_happened(daemon: DescribedDaemon) -> None:
    run = daemon.submit(endless())["id"]
    daemon.wait_for_call(run)
    so_far = told(daemon, run, query="?follow=false")
    assert [message.number for message in so_far] == list(range(1, len(so_far) + 1))
    assert so_far[-1].kind == "CallStarted"
    assert told(daemon, run, after=len(so_far), query="?follow=false") == []
    daemon.cancel(run)
    daemon.wait_until_over(run)
    assert_whole(told(daemon, run, query="?follow=false"))


def test_numbers_go_on_over_a_restart() -> None:
    with Daemon() as daemon:
        run = daemon.submit(endless(cases=ONE_CASE, onInterrupt="rerun"))["id"]
        daemon.wait_for_call(run)
        before = told(daemon, run, query="?follow=false")
        daemon.kill()
        daemon.restart()
        resumed = daemon.events(run, after=before[-1].number)
        heard = [*before]
        for message in resumed:
            heard.append(message)
            calls = [m for m in heard if m.kind == "CallStarted" and m.data["call"]["step"] == 1]
            if len(calls) == 2 and message is calls[1]:
                daemon.cancel(run)
        assert_whole(heard)
        assert [m.kind for m in heard].count("RunStarted") == 2
        assert heard == told(daemon, run)


def test_two_followers_of_two_runs_are_not_mixed_up(daemon: DescribedDaemon) -> None:
    runs = [daemon.submit(quick())["id"] for _ in range(2)]
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(daemon.new_client())
        answers: list[httpx2.Response] = [
            stack.enter_context(
                client.stream("GET", f"/v1/runs/{run}/events", timeout=PATIENCE_SECONDS)
            )
            for run in (*runs, *runs)
        ]
        heard = [list(read_messages(answer.iter_lines())) for answer in answers]
    assert heard[:2] == heard[2:]
    for messages, run in zip(heard, runs, strict=False):
        assert_whole(messages)
        assert messages[-1].data["id"] == run

"""Every call of the API over real sockets: status, body, headers, all as the daemon describes."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import psutil
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from retryproof import __version__, app, resources
from retryproof.daemon.access import OPEN

from tests.daemon.described import DescribedDaemon
from tests.daemon.running import PATIENCE_SECONDS, endless, quick, zoo
from tests.daemon.sharing import daemon, quiet_afterwards

__all__ = ["daemon", "quiet_afterwards"]

NO_RUN = "0123456789abcdef"
ONE_CASE = ["matching-replay"]


def error_of(answer: httpx2.Response) -> tuple[int, str, str]:
    """The status, the code and the place of a problem, which must have words for people too."""
    error = answer.json()["error"]
    assert " " in error["message"], error
    return answer.status_code, error["code"], error["path"]


@pytest.fixture
def busy(daemon: DescribedDaemon) -> Iterator[list[str]]:
    """Both places of the daemon are taken by runs that do not end; they are cancelled at last."""
    runs = [daemon.submit(endless(cases=ONE_CASE))["id"] for _ in range(2)]
    for run in runs:
        daemon.wait_for_call(run)
    yield runs
    for run in runs:
        daemon.cancel(run)
        daemon.wait_until_over(run)


def over(daemon: DescribedDaemon, **members: Any) -> dict[str, Any]:
    """A run that has passed."""
    run = daemon.wait_until_over(daemon.submit(quick(cases=ONE_CASE, **members))["id"])
    assert run["verdict"] == "pass", run
    return run


def test_the_description_is_valid(daemon: DescribedDaemon) -> None:
    answer = daemon.client.get("/openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    document = answer.json()
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"]["version"] == __version__
    names = [operation["operationId"] for _, _, operation in daemon.description.operations()]
    assert len(names) == len(set(names)) == 15


def test_every_reference_in_the_description_leads_somewhere(daemon: DescribedDaemon) -> None:
    text = json.dumps(daemon.description.document)
    named = {part.partition('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert named == set(daemon.description.document["components"]["schemas"])


def test_health(daemon: DescribedDaemon) -> None:
    answer = daemon.client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_readiness(daemon: DescribedDaemon, busy: list[str]) -> None:
    waiting = daemon.submit(quick())["id"]
    answer = daemon.client.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "ready": True,
            "problem": None,
            "version": __version__,
            "pid": daemon.process.pid,
            "jobs": 2,
            "queued": 1,
            "running": 2,
            "maxQueued": 1000,
        },
    )
    daemon.cancel(waiting)


def test_the_contract_is_served_as_it_is(daemon: DescribedDaemon) -> None:
    answer = daemon.client.get("/v1/contract")
    assert answer.content == resources.read_bytes(app.CONTRACT_FILE)
    assert answer.headers["Content-Type"] == "application/json"


def test_a_run_is_taken(daemon: DescribedDaemon, busy: list[str]) -> None:
    submission = quick(client="me", onInterrupt="rerun", suite="retryfuse")
    answer = daemon.client.post("/v1/runs", json=submission, headers={"Idempotency-Key": "~!"})
    view = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v1/runs/{view['id']}"
    assert answer.headers["Cache-Control"] == "no-store"
    assert {name: view[name] for name in view if name not in {"id", "adapter", "createdAt"}} == {
        "state": "queued",
        "suite": "retryfuse",
        "client": "me",
        "idempotencyKey": "~!",
        "onInterrupt": "rerun",
        "startedAt": None,
        "endedAt": None,
        "verdict": None,
        "exitStatus": None,
        "counts": None,
    }
    assert view["adapter"].endswith("/fixtures/faulty/adapter.py")
    assert daemon.client.get(answer.headers["Location"]).json() == {**view, "report": None}
    daemon.cancel(view["id"])


def test_a_run_is_taken_with_no_more_than_an_adapter(daemon: DescribedDaemon) -> None:
    adapter = quick()["adapter"]
    view = daemon.submit({"adapter": adapter})
    assert (view["suite"], view["client"], view["idempotencyKey"]) == ("retry", "", None)
    assert view["onInterrupt"] == "end"
    assert daemon.wait_until_over(view["id"])["counts"]["planned"] == 7


def test_a_run_on_its_way(daemon: DescribedDaemon, busy: list[str]) -> None:
    run = daemon.get(busy[0])
    assert (run["state"], run["report"], run["endedAt"]) == ("running", None, None)
    assert run["createdAt"] <= run["startedAt"]


def test_a_run_that_is_over(daemon: DescribedDaemon) -> None:
    run = over(daemon)
    report = run["report"]
    assert (run["state"], run["verdict"], run["exitStatus"]) == ("finished", "pass", 0)
    assert (report["verdict"], report["exitStatus"]) == ("pass", 0)
    assert run["counts"] == report["counts"]
    assert run["createdAt"] <= run["startedAt"] <= run["endedAt"]
    assert all(run[name].endswith("+00:00") for name in ("createdAt", "startedAt", "endedAt"))
    assert daemon.client.get(f"/v1/runs/{run['id']}/report").json() == report


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cases": ["none"]}, "cases"),
    ({"suite": "none"}, "suite"),
    ({"suite": "retryfuse", "cases": ["matching-replay"]}, "cases"),
    ({"profile": "none"}, "profile"),
    ({"profile": {"create": [200]}}, "profile"),
    ({"profile": {"name": "own", "create": [99]}}, "profile"),
    ({"profile": 1}, "profile"),
    ({"limits": {"callSeconds": 0}}, "limits.callSeconds"),
    ({"limits": {"callSeconds": 3601}}, "limits.callSeconds"),
    ({"limits": {"openFiles": 7}}, "limits.openFiles"),
    ({"limits": {"none": 1}}, "limits"),
    ({"onInterrupt": "none"}, "onInterrupt"),
    ({"client": "x" * 201}, "client"),
    ({"none": 1}, ""),
    ({"adapter": {}}, "adapter"),
    ({"adapter": {"command": [], "cwd": "/"}}, "adapter.command"),
    ({"adapter": {"command": ["a", "b\0"], "cwd": "/"}}, "adapter.command[1]"),
    ({"adapter": {"command": ["a"], "cwd": "here"}}, "adapter.cwd"),
    ({"adapter": {"command": ["a"]}}, "adapter"),
    ({"adapter": {"command": ["a"], "cwd": "/", "python": "/p"}}, "adapter"),
    ({"adapter": {"module": "/none.py", "cwd": "/"}}, "adapter"),
    ({"adapter": {"module": "/etc/passwd", "cwd": "/"}}, "adapter"),
    ({"adapter": {"http": "/none.toml"}}, "adapter"),
    ({"adapter": {"http": "/etc/passwd"}}, "adapter"),
    ({"adapter": {"http": "/none.toml"}, "suite": "retryfuse"}, "adapter.http"),
    ({"profile": "ietf", "suite": "retryfuse"}, "profile"),
    ({"profile": {"name": "own"}, "suite": "retryfuse"}, "profile"),
]


def test_what_can_not_be_run_is_refused(daemon: DescribedDaemon) -> None:
    before = daemon.client.get("/v1/runs").json()["total"]
    for members, path in REFUSED:
        answer = daemon.client.post("/v1/runs", json={**quick(), **members})
        assert error_of(answer) == (400, "bad-submission", path), members
    assert daemon.client.get("/v1/runs").json()["total"] == before


@pytest.mark.parametrize("key", ["", "a b", "\u00e9", "x" * 256, "a\tb"])
def test_a_key_that_is_none_is_refused(daemon: DescribedDaemon, key: str) -> None:
    answer = daemon.client.post(
        "/v1/runs", json=quick(), headers={b"Idempotency-Key": key.encode()}
    )
    assert error_of(answer) == (400, "bad-idempotency-key", "")


def test_two_keys_are_refused(daemon: DescribedDaemon) -> None:
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
    answer = daemon.client.post("/v1/runs", json=quick(), headers=headers)
    assert error_of(answer) == (400, "bad-idempotency-key", "")


def test_the_longest_key_is_taken(daemon: DescribedDaemon) -> None:
    key = "".join(itertools.islice(itertools.cycle(map(chr, range(0x21, 0x7F))), 255))
    run = daemon.submit(quick(cases=ONE_CASE), key)
    assert run["idempotencyKey"] == key
    daemon.wait_until_over(run["id"])
    assert daemon.client.get("/v1/runs", params={"key": key}).json()["total"] == 1


def test_the_list_in_pages(daemon: DescribedDaemon) -> None:
    mine = [over(daemon, client="pages")["id"] for _ in range(5)]
    query: dict[str, Any] = {"client": "pages", "limit": 2}
    pages = []
    while True:
        page = daemon.client.get("/v1/runs", params=query).json()
        pages.append([run["id"] for run in page["runs"]])
        assert page["total"] == 5
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert pages == [[mine[4], mine[3]], [mine[2], mine[1]], [mine[0]]]
    (last,) = daemon.client.get("/v1/runs", params={"limit": 1}).json()["runs"]
    assert last["id"] == mine[4]
    assert "report" not in last


def test_a_last_page_that_is_full_has_none_after_it(daemon: DescribedDaemon) -> None:
    for _ in range(2):
        over(daemon, client="full")
    page = daemon.client.get("/v1/runs", params={"client": "full", "limit": 2}).json()
    assert (len(page["runs"]), page["next"]) == (2, None)


def test_the_list_filtered(daemon: DescribedDaemon, busy: list[str]) -> None:
    queued = daemon.submit(quick(client="filtered", suite="retryfuse"), "filtered")["id"]

    def ids(**query: Any) -> list[str]:
        page = daemon.client.get("/v1/runs", params={"limit": 200, **query}).json()
        assert page["total"] == len(page["runs"])
        return [run["id"] for run in page["runs"]]

    assert ids(state="queued") == ids(key="filtered") == ids(client="filtered") == [queued]
    assert ids(state="running") == busy[::-1]
    assert ids(state=["queued", "running"]) == [queued, *busy[::-1]]
    assert ids(suite="retryfuse", state="queued") == [queued]
    assert ids(suite="retry", key="filtered") == []
    assert ids(verdict="fail") == ids(client="nobody") == []
    daemon.cancel(queued)
    assert ids(state="cancelled", client="filtered") == [queued]


BAD_QUERIES = [
    ("limit=0", "limit"),
    ("limit=201", "limit"),
    ("limit=x", "limit"),
    ("cursor=-1", "cursor"),
    ("cursor=x", "cursor"),
    ("cursor=9007199254740993", "cursor"),
    ("state=none", "state[0]"),
    ("state=queued&state=none", "state[1]"),
    ("verdict=passed", "verdict"),
    ("suite=none", "suite"),
    ("none=1", ""),
    ("limit=1&limit=2", "limit"),
    ("client=a&client=b", "client"),
]


def test_a_query_that_makes_no_sense(daemon: DescribedDaemon) -> None:
    for query, path in BAD_QUERIES:
        answer = daemon.client.get(f"/v1/runs?{query}")
        assert error_of(answer) == (400, "bad-query", path), query


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/report"), ("GET", "/events"), ("POST", "/cancel")],
)
def test_a_run_that_there_is_not(daemon: DescribedDaemon, method: str, path: str) -> None:
    answer = daemon.client.request(method, f"/v1/runs/{NO_RUN}{path}")
    assert error_of(answer) == (404, "not-found", "")


def test_a_report_that_there_is_not_yet(daemon: DescribedDaemon, busy: list[str]) -> None:
    answer = daemon.client.get(f"/v1/runs/{busy[0]}/report")
    assert error_of(answer) == (409, "not-over", "")
    queued = daemon.submit(quick())["id"]
    assert error_of(daemon.client.get(f"/v1/runs/{queued}/report")) == (409, "not-over", "")
    daemon.cancel(queued)
    answer = daemon.client.get(f"/v1/runs/{queued}/report")
    assert error_of(answer) == (409, "no-report", "")
    assert answer.json()["error"]["message"] == (
        "The run is cancelled, and has no report: it was never started."
    )


def test_a_report_in_a_format_that_there_is_not(daemon: DescribedDaemon) -> None:
    run = over(daemon)["id"]
    answer = daemon.client.get(f"/v1/runs/{run}/report?format=none")
    assert error_of(answer) == (400, "bad-query", "format")


def test_cancelling_a_run_that_waits(daemon: DescribedDaemon, busy: list[str]) -> None:
    run = daemon.submit(quick())["id"]
    answer = daemon.client.post(f"/v1/runs/{run}/cancel")
    view = answer.json()
    assert (answer.status_code, view["state"], view["verdict"]) == (200, "cancelled", None)
    assert view["createdAt"] <= view["endedAt"]
    again = daemon.client.post(f"/v1/runs/{run}/cancel")
    assert (again.status_code, again.json()) == (200, view)
    assert [event.kind for event in daemon.events(run)] == ["end"]


def test_cancelling_a_run_in_its_middle(daemon: DescribedDaemon) -> None:
    run = daemon.submit(endless())["id"]
    daemon.wait_for_call(run)
    adapters = daemon.family()
    assert adapters
    answer = daemon.client.post(f"/v1/runs/{run}/cancel")
    assert (answer.status_code, answer.json()["state"]) in {(202, "running"), (200, "cancelled")}
    ended = daemon.wait_until_over(run)
    assert (ended["state"], ended["verdict"], ended["exitStatus"]) == ("cancelled", "incomplete", 1)
    report = ended["report"]
    assert report["interruptedBy"] == "cancellation"
    verdicts = [case["verdict"] for case in report["cases"]]
    assert verdicts == ["incomplete", *["not-run"] * 6]
    assert report["cases"][0]["failure"]["kind"] == "interrupted"
    assert psutil.wait_procs(adapters, timeout=PATIENCE_SECONDS)[1] == []
    again = daemon.client.post(f"/v1/runs/{run}/cancel")
    assert (again.status_code, again.json()["state"]) == (200, "cancelled")


def test_cancelling_a_run_that_is_over_changes_nothing(daemon: DescribedDaemon) -> None:
    run = over(daemon)
    answer = daemon.client.post(f"/v1/runs/{run['id']}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "finished")
    assert daemon.get(run["id"]) == run


def test_a_cancelled_run_makes_room_for_the_next(daemon: DescribedDaemon, busy: list[str]) -> None:
    waiting = daemon.submit(quick(cases=ONE_CASE))["id"]
    assert daemon.get(waiting)["state"] == "queued"
    daemon.cancel(busy[0])
    assert daemon.wait_until_over(waiting)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/none", 404, "not-found"),
        ("GET", "/v1/runs/", 404, "not-found"),
        ("DELETE", "/v1/runs", 405, "method-not-allowed"),
        ("GET", "/v1/check", 405, "method-not-allowed"),
        ("POST", "/healthz", 405, "method-not-allowed"),
        ("OPTIONS", "/v1/runs", 405, "method-not-allowed"),
    ],
)
def test_what_there_is_not(
    daemon: DescribedDaemon, method: str, path: str, status: int, code: str
) -> None:
    assert error_of(daemon.client.request(method, path)) == (status, code, "")


def test_head_is_get_without_its_body(daemon: DescribedDaemon) -> None:
    answer = daemon.client.head("/healthz")
    assert (answer.status_code, answer.content) == (200, b"")


def test_over_tcp_every_call_needs_the_token_but_the_open_ones(daemon: DescribedDaemon) -> None:
    with httpx2.Client(
        base_url=daemon.url, timeout=PATIENCE_SECONDS, headers={"Content-Type": "application/json"}
    ) as stranger:
        for method, path, _ in daemon.description.operations():
            answer = stranger.request(method, path.replace("{id}", NO_RUN), content=b"{}")
            daemon.description.check(answer)
            if (method, path) in OPEN:
                assert answer.status_code in {200, 400}, (method, path)
            else:
                assert error_of(answer) == (401, "token-missing", ""), (method, path)


def test_over_tcp_with_the_token_all_is_as_over_the_socket(daemon: DescribedDaemon) -> None:
    headers = {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"}
    with httpx2.Client(
        base_url=daemon.url,
        timeout=PATIENCE_SECONDS,
        headers=headers,
        event_hooks={"response": [daemon.description.check]},
    ) as client:
        answer = client.post("/v1/runs", json=quick(cases=ONE_CASE))
        assert answer.status_code == 201
        run = daemon.wait_until_over(answer.json()["id"])
        for path in ("", "/report", "/report?format=text", "/events"):
            over_tcp = client.get(f"/v1/runs/{run['id']}{path}")
            over_unix = daemon.client.get(f"/v1/runs/{run['id']}{path}")
            assert over_tcp.status_code == 200
            assert over_tcp.content == over_unix.content
        assert client.post(f"/v1/runs/{run['id']}/cancel").json()["state"] == "finished"


def test_metrics_are_text(daemon: DescribedDaemon) -> None:
    answer = daemon.client.get("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "retryproof_queued_runs 0.0\n" in answer.text


def test_a_failed_run_is_finished(daemon: DescribedDaemon) -> None:
    run = daemon.submit(zoo("step2=exit-with:3", cases=ONE_CASE))["id"]
    ended = daemon.wait_until_over(run)
    assert (ended["state"], ended["verdict"], ended["exitStatus"]) == ("finished", "incomplete", 1)
    assert ended["counts"]["incomplete"] == 1

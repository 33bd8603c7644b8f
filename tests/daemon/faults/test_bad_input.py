"""Whatever comes in over HTTP: a problem that says what is wrong, and a daemon that stays well."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from retryproof.api.submission import (
    MAX_CLIENT_CHARACTERS,
    AdapterSubmission,
    LimitsSubmission,
    RunSubmission,
    SandboxSubmission,
)
from retryproof.daemon.requests import MAX_BODY_BYTES

from tests.daemon.running import PATIENCE_SECONDS, REFERENCE, Daemon, quick

HUGE = 10**400
LONG = "a" * 5000
PURE = ("/v1/check", "/v1/reduce", "/v1/compare", "/v1/fuse")


class Answer(NamedTuple):
    """What a request is answered with."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, str]:
        """The problem, which has its form."""
        document = json.loads(self.body)
        assert document.keys() == {"error"}
        error: dict[str, str] = document["error"]
        assert error.keys() == {"code", "message", "path"}
        assert error["code"]
        assert error["message"]
        return error


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with Daemon("--jobs", "2") as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _stays_well(daemon: Daemon) -> Iterator[None]:
    log, runs = daemon.log, total(daemon)
    yield
    assert daemon.log == log
    assert json.loads(ask(daemon, "GET", "/readyz").body)["ready"]
    assert total(daemon) == runs


def total(daemon: Daemon) -> int:
    return int(json.loads(ask(daemon, "GET", "/v1/runs").body)["total"])


def ask(
    daemon: Daemon, method: str, path: str, body: bytes | None = None, **headers: str
) -> Answer:
    """Asks over a connection of its own."""
    with closing(daemon.connection()) as connection:
        # Not checked by http.client, which would not send what is hostile.
        connection._validate_path = lambda _path: None  # type: ignore[attr-defined]
        connection.request(
            method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())


def post(daemon: Daemon, document: Any) -> Answer:
    return ask(daemon, "POST", "/v1/runs", json.dumps(document).encode())


def tell(daemon: Daemon, data: bytes) -> Answer:
    """Writes bytes, and reads until the daemon closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE_SECONDS)
        client.connect(str(daemon.socket))
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := client.recv(65536):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return Answer(int(lines[0].split()[1]), headers, body)


def changed(**members: Any) -> dict[str, Any]:
    """A good submission, but for these members."""
    return {**quick(), **members}


def adapter(**members: Any) -> dict[str, Any]:
    """A good submission, but for these members of its adapter; None takes one away."""
    whole = {**quick()["adapter"], **members}
    return changed(adapter={name: value for name, value in whole.items() if value is not None})


def module(path: str, **members: Any) -> dict[str, Any]:
    return changed(adapter={"module": path, "cwd": "/", **members})


def http(path: str) -> dict[str, Any]:
    return changed(adapter={"http": path})


BODIES = {
    "nothing": b"",
    "no JSON": b"adapter=/bin/true",
    "half": json.dumps(quick()).encode()[:-1],
    "two": json.dumps(quick()).encode() * 2,
    "not UTF-8": b'{"adapter": "\xff"}',
    "UTF-16": json.dumps(quick()).encode("utf-16"),
    "a byte-order mark": b"\xef\xbb\xbf{}",
    "NaN": b'{"limits": {"callSeconds": NaN}}',
    "a lone surrogate": b'{"client": "\\ud800"}',
    "a repeated member": b'{"suite": "retry", "suite": "retry", "adapter": {}}',
    "a repeated member inside": b'{"adapter": {"cwd": "/", "cwd": "/", "command": ["x"]}}',
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"adapter":' * 50_000,
    "deep and closed": b'{"profile": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a long number": b'{"limits": {"callSeconds": ' + b"9" * 100_000 + b"}}",
    "a huge exponent": b'{"limits": {"callSeconds": 1e999999999}}',
    "zeros": bytes(1000),
    "as large as allowed": b" " * MAX_BODY_BYTES,
}


KEYS: tuple[dict[str, str], ...] = ({}, {"Idempotency_Key": "a-key"})


def test_a_body_that_is_none(daemon: Daemon) -> None:
    for (name, body), headers in product(BODIES.items(), KEYS):
        answer = ask(daemon, "POST", "/v1/runs", body, **headers)
        assert answer.status == 400, name
        assert answer.problem["code"] == "bad-submission", name


DOCUMENTS: dict[str, tuple[Any, str]] = {
    "null": (None, ""),
    "a number": (HUGE, ""),
    "an array": ([quick()], ""),
    "no adapter": ({}, ""),
    "an unknown member": (changed(jobs=3), ""),
    "an unknown member inside": (adapter(shell=True), "adapter"),
    "an adapter that is text": (changed(adapter="/bin/true"), "adapter"),
    "a command that is text": (adapter(command="/bin/true"), "adapter.command"),
    "an empty command": (adapter(command=[]), "adapter.command"),
    "a number in a command": (adapter(command=["/bin/true", 1]), "adapter.command[1]"),
    "NUL in an argument": (adapter(command=["/bin/true", "a\0b"]), "adapter.command[1]"),
    "two adapters": (adapter(module=REFERENCE), "adapter"),
    "no adapter at all": (adapter(command=None), "adapter"),
    "no cwd": (adapter(cwd=None), "adapter"),
    "a relative cwd": (adapter(cwd="here"), "adapter.cwd"),
    "a cwd with a dot": (adapter(cwd="./here"), "adapter.cwd"),
    "NUL in the cwd": (adapter(cwd="/a\0b"), "adapter.cwd"),
    "a relative module": (module("adapter.py"), "adapter.module"),
    "an unknown module": (module("/no/such/adapter.py"), "adapter"),
    "a folder as module": (module("/"), "adapter"),
    "a long module": (module("/" + LONG + ".py"), "adapter"),
    "a very deep module": (module("/a" * 100_000 + ".py"), "adapter"),
    "a module of no kind": (module("/etc/passwd"), "adapter"),
    "an unknown python": (module(REFERENCE, python="/no/such/python"), "adapter"),
    "a relative python": (module(REFERENCE, python="python3"), "adapter.python"),
    "a relative service": (http("service.toml"), "adapter.http"),
    "an unknown service": (http("/no/such/service.toml"), "adapter"),
    "a folder as service": (http("/"), "adapter"),
    "a device as service": (http("/dev/zero"), "adapter"),
    "a service that is none": (http("/etc/passwd"), "adapter"),
    "a program as service": (http("/bin/sh"), "adapter"),
    "an unset variable": (adapter(environment={"A": None}), "adapter.environment[...]"),
    "a variable without a name": (adapter(environment={"": "x"}), "adapter.environment"),
    "a variable with =": (adapter(environment={"A=B": "x"}), "adapter.environment"),
    "NUL in a variable": (adapter(environment={"A": "x\0"}), "adapter.environment[...]"),
    "a relative folder to write": (adapter(sandbox={"writable": ["x"]}), "adapter.sandbox"),
    "an unknown folder to write": (adapter(sandbox={"writable": ["/no/such"]}), "adapter"),
    "an unknown suite": (changed(suite="retries"), "suite"),
    "an unknown case": (changed(cases=["no-such-case"]), "cases"),
    "a case with controls": (changed(cases=["\x1b[31m\0"]), "cases"),
    "a long case": (changed(cases=[LONG]), "cases"),
    "a case that can't be sent": (changed(suite="retryfuse", cases=["utf-16"]), "cases"),
    "cases that are text": (changed(cases="matching-replay"), "cases"),
    "an unknown profile": (changed(profile="no-such-profile"), "profile"),
    "a profile without a name": (changed(profile={"replay": "same"}), "profile"),
    "a profile with an unknown key": (changed(profile={"name": "x", "y": 1}), "profile"),
    "a profile of numbers": (changed(profile={"name": "x", "replay-status": HUGE}), "profile"),
    "a profile that is deep": (changed(profile={"name": "x", "y": [[[[[[]]]]]]}), "profile"),
    "a profile for another suite": (changed(suite="retryfuse", profile="ietf"), ""),
    "an unknown limit": (changed(limits={"seconds": 1}), "limits"),
    "no time": (changed(limits={"callSeconds": 0}), "limits.callSeconds"),
    "a negative time": (changed(limits={"callSeconds": -1e-300}), "limits.callSeconds"),
    "a time that is text": (changed(limits={"callSeconds": "2"}), "limits.callSeconds"),
    "more than an hour": (changed(limits={"callSeconds": 3600.1}), "limits.callSeconds"),
    "a huge time": (changed(limits={"callSeconds": HUGE}), "limits.callSeconds"),
    "huge memory": (changed(limits={"memoryBytes": HUGE}), "limits.memoryBytes"),
    "too many files": (changed(limits={"openFiles": 2**64}), "limits.openFiles"),
    "half a process": (changed(limits={"processes": 0.5}), "limits.processes"),
    "an unknown end": (changed(onInterrupt="again"), "onInterrupt"),
    "a number for yes": (changed(keepGoing=1), "keepGoing"),
    "a long client": (changed(client="c" * (MAX_CLIENT_CHARACTERS + 1)), "client"),
    "a number as client": (changed(client=7), "client"),
}


def test_a_run_that_is_none(daemon: Daemon) -> None:
    for (name, (document, path)), headers in product(DOCUMENTS.items(), KEYS):
        answer = ask(daemon, "POST", "/v1/runs", json.dumps(document).encode(), **headers)
        assert answer.status == 400, (name, answer.body)
        assert answer.problem["code"] == "bad-submission", name
        # A number that no double can hold has no fingerprint, which is what a key stands for.
        assert answer.problem["path"].startswith(path) or headers, name


def test_a_pipe_in_place_of_a_file(daemon: Daemon, place: Path) -> None:
    """Whoever opens it waits for somebody to write."""
    for name in ("service.toml", "adapter.py"):
        os.mkfifo(place / name)
    for document in (http(str(place / "service.toml")), module(str(place / "adapter.py"))):
        answer = post(daemon, document)
        assert answer.status == 400
        assert answer.problem["path"] == "adapter"


BAD_KEYS: tuple[list[str], ...] = (
    [""],
    ["a b"],
    ["a", "b"],
    ["a", "a"],
    ["\xe4"],
    ["\x7f"],
    ["k" * 256],
)


def test_a_key_that_is_none(daemon: Daemon) -> None:
    body = json.dumps(quick()).encode()
    for keys in BAD_KEYS:
        lines = "".join(f"Idempotency-Key: {key}\r\n" for key in keys)
        head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
        answer = tell(daemon, head.encode("latin-1") + body)
        assert answer.status == 400, keys
        assert answer.problem, keys


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def test_a_body_that_is_too_large(daemon: Daemon) -> None:
    body = b" " * (MAX_BODY_BYTES + 1)
    forms = (
        b"Content-Length: %d\r\n\r\n" % len(body) + body,
        b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body),
    )
    for path, form in product(("/v1/runs", *PURE), forms):
        answer = tell(daemon, f"POST {path} HTTP/1.1\r\nHost: x\r\n".encode() + form)
        assert answer.status == 413, path
        assert answer.problem["code"] == "body-too-large", path
        assert answer.headers["connection"] == "close", path


def test_more_nonsense_after_a_body_that_is_too_large(daemon: Daemon) -> None:
    head = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"%x\r\n%b\r\n" % (MAX_BODY_BYTES + 1, bytes(MAX_BODY_BYTES + 1))
    for rest in (b"no chunk\r\n", b"0\r\n\r\nGET", b"-1\r\n"):
        assert tell(daemon, head + body + rest).status in {400, 413}, rest


PATHS = {
    "unknown": "/v2/runs",
    "unknown id": "/v1/runs/0123456789abcdef",
    "trailing slash": "/v1/runs/",
    "double slash": "//v1/runs",
    "double slash inside": "/v1//runs",
    "upper case": "/V1/RUNS",
    "dots": "/v1/runs/../runs/x",
    "escaped dots": "/v1/%2e%2e/v1/runs",
    "up to the files": "/../../../etc/passwd",
    "up to the files, escaped": "/%2e%2e/%2e%2e/etc/passwd",
    "escaped slashes": "/v1%2fruns%2fx%2fy",
    "NUL": "/v1/runs/%00",
    "NUL in the report": "/v1/runs/%00/report",
    "not UTF-8": "/v1/runs/%ff%fe",
    "a lone surrogate": "/v1/runs/%ed%a0%80",
    "half an escape": "/v1/runs/%",
    "no escape": "/v1/runs/%zz",
    "line ends": "/v1/runs/%0d%0aX-Evil:%20yes",
    "SQL": "/v1/runs/'%20OR%20'1'='1",
    "long": "/v1/runs/" + "a" * 30_000,
    "another host": "http://evil.example/v1/runs",
    "a fragment": "/v1/runs/x#y",
    "a semicolon": "/v1/runs;x=y",
    "an unknown run's events": "/v1/runs/x/events",
    "an unknown run's report": "/v1/runs/x/report",
    "an unknown part": "/v1/runs/x/secrets",
}


def test_a_path_that_leads_nowhere(daemon: Daemon) -> None:
    for name, path in PATHS.items():
        answer = ask(daemon, "GET", path)
        assert answer.status == 404, name
        assert answer.problem["code"] == "not-found", name
        assert "X-Evil" not in answer.headers, name


def test_an_unknown_run_can_not_be_cancelled(daemon: Daemon) -> None:
    assert ask(daemon, "POST", "/v1/runs/x/cancel").problem["code"] == "not-found"


QUERIES = (
    "limit=0",
    "limit=201",
    "limit=-1",
    "limit=ten",
    "limit=",
    f"limit={HUGE}",
    "limit=1&limit=2",
    "limit=%00",
    "limit=%ff",
    "cursor=x",
    "cursor=-1",
    f"cursor={2**63}",
    f"cursor={HUGE}",
    "state=done",
    "state=queued&state=%F0%9F%92%A9",
    "state=",
    "verdict=good",
    "verdict=pass&verdict=pass",
    "suite=x",
    "no-such=1",
    "%00=1",
    "%ff=%ff",
    "client=a&client=b",
)


def test_a_query_that_makes_no_sense(daemon: Daemon) -> None:
    for query in QUERIES:
        answer = ask(daemon, "GET", f"/v1/runs?{query}")
        assert answer.status == 400, query
        assert answer.problem["code"] == "bad-query", query


def test_a_query_that_finds_nothing(daemon: Daemon) -> None:
    for query in ("client=%00", "client=%ff", "key=%ed%a0%80", "client='"):
        answer = ask(daemon, "GET", f"/v1/runs?{query}")
        assert answer.status == 200, query
        assert json.loads(answer.body)["runs"] == [], query


METHODS = [
    ("PUT", "/v1/runs"),
    ("DELETE", "/v1/runs"),
    ("PATCH", "/v1/runs/x"),
    ("POST", "/v1/runs/x"),
    ("GET", "/v1/runs/x/cancel"),
    ("GET", "/v1/check"),
    ("POST", "/v1/contract"),
    ("POST", "/healthz"),
    ("TRACE", "/v1/runs"),
    ("OPTIONS", "/v1/runs"),
    ("BREW", "/v1/runs"),
]


def test_a_method_that_is_not_there(daemon: Daemon) -> None:
    for method, path in METHODS:
        answer = ask(daemon, method, path)
        assert answer.status == 405, (method, path)
        assert answer.problem["code"] == "method-not-allowed"
        assert answer.headers["allow"]


def test_a_number_of_an_event_that_is_none(daemon: Daemon) -> None:
    for number in ("x", "-1", "1.5", "1" * 16, "", " ", "\xb2", "0x10"):
        answer = ask(daemon, "GET", "/v1/runs/x/events", Last_Event_ID=number)
        assert answer.problem["code"] == "bad-last-event-id", number
        assert answer.status == 400


NO_HTTP = {
    "no HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n",
    "no host": b"GET /v1/runs HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "HTTP/3": b"GET / HTTP/3\r\nHost: a\r\n\r\n",
    "raw bytes in the path": b"GET /v1/runs/\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
    "NUL in the path": b"GET /v1/runs/\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a space in the path": b"GET /v1/runs/a b HTTP/1.1\r\nHost: a\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
    "a header that is none": b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "two lengths": (
        b"POST /v1/runs HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "a negative length": b"POST /v1/runs HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "a huge length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 50 + b"\r\n\r\n",
    "no chunk": (
        b"POST /v1/runs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n"
    ),
    "an unknown encoding": (
        b"POST /v1/runs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}"
    ),
    "an endless header": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
}


def test_what_is_no_http(daemon: Daemon) -> None:
    for name, data in NO_HTTP.items():
        answer = tell(daemon, data)
        assert 400 <= answer.status < 500, name
        assert answer.problem, name


def test_a_connection_that_goes_on_after_a_problem(daemon: Daemon) -> None:
    with closing(daemon.connection()) as connection:
        for body, status in [(b"{", 400), (b"[]", 400), (b"{}", 400)]:
            connection.request("POST", "/v1/runs", body)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b'{"status":"alive"}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = (
    *RunSubmission.__struct_encode_fields__,
    *AdapterSubmission.__struct_encode_fields__,
    *SandboxSubmission.__struct_encode_fields__,
    *LimitsSubmission.__struct_encode_fields__,
    "name",
)
NAMED = st.recursive(
    JSON,
    lambda inner: st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5),
    max_leaves=10,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(document=NAMED, path=st.sampled_from(["/v1/runs", "/v1/compare"]))
def test_any_document(daemon: Daemon, document: Any, path: str) -> None:
    answer = ask(daemon, "POST", path, json.dumps(document).encode())
    assert answer.status == 400
    assert answer.problem


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    body=st.binary(max_size=200),
    path=st.sampled_from(PURE),
)
def test_any_bytes_to_the_pure_parts(daemon: Daemon, body: bytes, path: str) -> None:
    answer = ask(daemon, "POST", path, body)
    assert answer.status in {200, 400}
    json.loads(answer.body)


def test_bad_bodies_to_the_pure_parts(daemon: Daemon) -> None:
    """What is wrong with an artifact is their answer."""
    for (name, body), path in product(BODIES.items(), PURE):
        answer = ask(daemon, "POST", path, body)
        assert answer.status in {200, 400}, (name, path)
        json.loads(answer.body)

"""Services and files that can't be driven: the exact words for each, and nothing hangs."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.driving import case_of, verdicts
from tests.http_adapter.running import (
    WHOLE_FILE,
    Route,
    answering,
    free_port,
    message_of,
    misbehaving,
    run_service,
)

HELD_BACK_SECONDS = 5.0
ENDED = threading.Event()


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def speak_something_else(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example ESMTP\r\n\r\n")
    handler.close_connection = True


def break_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(201)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"id":')
    handler.close_connection = True


def send_headers_without_end(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")


def send_a_body_without_end(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        handler.wfile.write(b"x" * 65536)


ORDERS, WRITES, URL = "POST /orders", "GET /test/orders", "http://127.0.0.1:PORT"
TROUBLES: dict[str, tuple[str, Route, str]] = {
    "no success at reset": (
        "POST /test/reset",
        answering(404, b'{"detail":"Not Found"}'),
        f"[reset] request: the answer to POST {URL}/test/reset (404) is no success: "
        '"{"detail":"Not Found"}".',
    ),
    "a redirect at the clock": (
        "POST /test/clock",
        answering(302, headers={"Location": "/elsewhere"}),
        f"[clock] request: the answer to POST {URL}/test/clock (302) is no success.",
    ),
    "an error at the count": (
        WRITES,
        answering(500, b"boom\x1b[31m"),
        f"[writes] request: the answer to GET {URL}/test/orders (500) is no success: "
        '"boom\\x1b[31m".',
    ),
    "no JSON": (
        ORDERS,
        answering(201, b"<html>thanks</html>"),
        f"[step] receipt: the answer to POST {URL}/orders (201) is not JSON: "
        '"<html>thanks</html>".',
    ),
    "nothing": (
        ORDERS,
        answering(204),
        f"[step] receipt: the answer to POST {URL}/orders (204) is not JSON: it is empty.",
    ),
    "not UTF-8": (
        ORDERS,
        answering(201, b'"\xff"'),
        f'[step] receipt: the answer to POST {URL}/orders (201) is not JSON: ""\\xff"".',
    ),
    "nested without end": (
        ORDERS,
        answering(201, b"[" * 200_000),
        f"[step] receipt: the answer to POST {URL}/orders (201) is not JSON: "
        f'"{"[" * 80}" (and 199,920 bytes more).',
    ),
    "wrong pointer": (
        ORDERS,
        answering(201, b'{"order": {"id": 1}, "state": "new"}'),
        f"[step] receipt: the answer to POST {URL}/orders (201) has nothing at /id: the whole of "
        "it is an object with order, state.",
    ),
    "no receipt at the pointer": (
        ORDERS,
        answering(201, b'{"id": null}'),
        f"[step] receipt: the answer to POST {URL}/orders (201) has null at /id, and no string "
        "or number.",
    ),
    "no count at the pointer": (
        WRITES,
        answering(200, b"[]"),
        f"[writes] count: the answer to GET {URL}/test/orders (200) has nothing at /count: the "
        "whole of it is an array of 0.",
    ),
    "a count that is no number": (
        WRITES,
        answering(200, b'{"count": "12"}'),
        f'[writes] count: the answer to GET {URL}/test/orders (200) has the string "12" at '
        "/count, and no whole number or array.",
    ),
    "half a write": (
        WRITES,
        answering(200, b'{"count": 0.5}'),
        f"[writes] count: the answer to GET {URL}/test/orders (200) has the number 0.5 at /count, "
        "and no whole number or array.",
    ),
    "a huge answer": (
        ORDERS,
        answering(201, b"1" * (1024 * 1024 + 1)),
        f"[step] request: the answer to POST {URL}/orders is longer than 1 MiB.",
    ),
    "an answer without end": (
        ORDERS,
        send_a_body_without_end,
        f"[step] request: the answer to POST {URL}/orders is longer than 1 MiB.",
    ),
    "headers without end": (
        ORDERS,
        send_headers_without_end,
        f"[step] request: POST {URL}/orders has no whole answer: Receive buffer too long. Is the "
        "service running?",
    ),
    "no HTTP": (
        ORDERS,
        speak_something_else,
        f"[step] request: POST {URL}/orders has no whole answer: illegal status line: "
        "bytearray(b'220 mail.example ESMTP'). Is the service running?",
    ),
    "hanging up": (
        ORDERS,
        hang_up,
        f"[step] request: POST {URL}/orders has no whole answer: Server disconnected without "
        "sending a response. Is the service running?",
    ),
    "breaking off": (
        ORDERS,
        break_off,
        f"[step] request: POST {URL}/orders has no whole answer: peer closed connection without "
        "sending complete message body (received 6 bytes, expected 100). Is the service running?",
    ),
    "a status that is none": (
        ORDERS,
        answering(999, b"{}"),
        f"[step] request: the answer to POST {URL}/orders (999) has a status that is none in HTTP.",
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_the_service_does_wrong_is_said_with_table_and_key(
    tmp_path: Path, trouble: str
) -> None:
    route, answer, words = TROUBLES[trouble]
    with misbehaving({route: answer}) as port:
        report = run_service(tmp_path, WHOLE_FILE.format(port=port))
    assert message_of(report) == words.replace("PORT", str(port))
    assert verdicts(report) == ["incomplete", *["not-run"] * 6]


def test_a_missing_header_is_said_so(tmp_path: Path) -> None:
    file = WHOLE_FILE.replace("/id", "header:Location")
    with misbehaving({}) as port:
        report = run_service(tmp_path, file.format(port=port))
    assert message_of(report) == (
        f"[step] receipt: the answer to POST http://127.0.0.1:{port}/orders (201) has no header "
        "location."
    )


def test_fewer_writes_than_before_are_refused(tmp_path: Path) -> None:
    counts = iter((b"3", b"2"))

    def count(handler: BaseHTTPRequestHandler) -> None:
        answering(200, next(counts))(handler)

    with misbehaving({WRITES: count}) as port:
        file = WHOLE_FILE.replace('count = "/count"', "")
        report = run_service(tmp_path, file.format(port=port))
    assert message_of(report) == (
        "[writes] count: there are 2 writes, and there were 3 at the reset: writes are not to go "
        "away within a case."
    )


def test_a_service_that_is_not_there(tmp_path: Path) -> None:
    port = free_port()
    report = run_service(tmp_path, WHOLE_FILE.format(port=port))
    assert message_of(report) == (
        f"[reset] request: POST http://127.0.0.1:{port}/test/reset can't be sent: Connection "
        "refused. Is the service running?"
    )


def test_a_service_whose_name_does_not_exist(tmp_path: Path) -> None:
    file = WHOLE_FILE.format(port=1).replace("127.0.0.1", "no-such-host.invalid")
    message = message_of(run_service(tmp_path, file))
    assert message.startswith(
        "[reset] request: POST http://no-such-host.invalid:1/test/reset can't be sent: "
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (302, b""),
        (404, b"<html>no</html>"),
        (409, b'{"error": 1}'),
        (422, b'{"id": "e-1"}'),
        (500, b""),
        (503, b"1" * 1024),
    ],
)
def test_any_status_is_reported_as_it_is_and_a_refusal_has_no_receipt(
    tmp_path: Path, status: int, body: bytes
) -> None:
    answer = answering(status, body, {"Location": "http://127.0.0.1:1/elsewhere"})
    with misbehaving({ORDERS: answer}) as port:
        file = WHOLE_FILE.format(port=port)
        report = run_service(tmp_path, file, cases=("matching-replay",))
    (first, second) = (step.actual for step in case_of(report, "matching-replay").steps)
    assert first is not None
    assert first == second
    assert (first.status, first.receipt, first.committed_writes) == (status, None, 0)


def test_a_refusal_that_names_a_known_write_is_reported_with_it(tmp_path: Path) -> None:
    statuses = iter((201, 409))

    def answer(handler: BaseHTTPRequestHandler) -> None:
        answering(next(statuses), b'{"id": "order-1"}')(handler)

    with misbehaving({ORDERS: answer}) as port:
        file = WHOLE_FILE.format(port=port)
        report = run_service(tmp_path, file, cases=("matching-replay",))
    (_, replay) = case_of(report, "matching-replay").steps
    assert replay.actual is not None
    assert (replay.actual.status, replay.actual.receipt) == (409, 1)


def hold_back(handler: BaseHTTPRequestHandler) -> None:
    ENDED.wait(HELD_BACK_SECONDS)
    answering(201, b'{"id": 7}')(handler)


def drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 201 Created\r\n")
    while not ENDED.wait(0.05):
        handler.wfile.write(b"X-More: x\r\n")


@pytest.mark.parametrize("slow", [hold_back, drip])
def test_a_slow_answer_ends_the_adapter_and_leaves_the_service_unknown(
    tmp_path: Path, slow: Route
) -> None:
    ENDED.clear()
    with misbehaving({ORDERS: slow}) as port:
        started = time.monotonic()
        report = run_service(tmp_path, WHOLE_FILE.format(port=port), call_seconds=0.5)
        ENDED.set()
    assert time.monotonic() - started < HELD_BACK_SECONDS
    failure = report.cases[0].failure
    assert failure is not None
    assert (failure.kind, failure.definite) == ("timeout", False)
    url = f"http://127.0.0.1:{port}"
    assert failure.message == (
        "No answer to `step` within 0.5 s: the adapter was killed. Whether this call took effect "
        f"is unknown. Its stderr ended: [clock] request: POST {url}/test/clock | "
        f"[step] request: POST {url}/orders | [step] request: POST {url}/orders has not ended "
        "after 0.45 s: the state of the service is unknown."
    )
    assert verdicts(report) == ["incomplete", *["not-run"] * 6]


def test_after_a_slow_answer_the_next_case_is_driven_by_a_fresh_adapter(tmp_path: Path) -> None:
    ENDED.clear()
    slow_once = iter((hold_back,))

    def answer(handler: BaseHTTPRequestHandler) -> None:
        next(slow_once, answering(201, b'{"id": 7}'))(handler)

    with misbehaving({ORDERS: answer}) as port:
        file = WHOLE_FILE.format(port=port)
        report = run_service(tmp_path, file, call_seconds=0.5, keep_going=True)
        ENDED.set()
    assert verdicts(report) == ["incomplete", *["fail"] * 6]
    assert report.resources.processes_spawned == 2


def test_a_service_that_takes_no_connection_is_a_slow_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        report = run_service(tmp_path, WHOLE_FILE.format(port=port), call_seconds=0.5)
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.kind == "timeout"
    assert failure.call.method == "reset"
    assert failure.message.endswith(
        f"[reset] request: POST http://127.0.0.1:{port}/test/reset has not ended after 0.45 s: "
        "the state of the service is unknown."
    )


def test_the_file_is_checked_by_the_adapter_too(tmp_path: Path) -> None:
    report = run_service(tmp_path, "base_url = 1")
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.message == (
        f"The adapter answered `initialize` with the error -32000: SERVICE.toml: {tmp_path}"
        "/service.toml: [clock] is missing: how ticks become time, with request or "
        "seconds_per_tick."
    )

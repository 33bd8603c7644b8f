"""Services for the tests: programs of our own in two languages, and servers that misbehave."""

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias

import psutil
from retryproof.app import RunRequest, drive
from retryproof.reports.report import Report
from retryproof.supervise.launch import http_service
from retryproof.supervise.limits import Limits

from tests.driving import BUNDLE, assert_conserved

SERVICES = Path(__file__).parent / "services"
PYTHON_ORDERS = (sys.executable, str(SERVICES / "orders.py"))
NODE_ORDERS = ("node", str(SERVICES / "orders.mjs"))

WHOLE_FILE = """
base_url = "http://127.0.0.1:{port}"
[reset]
request = "POST /test/reset"
[clock]
request = "POST /test/clock"
json = {{ now = "{{at}}" }}
[step]
request = "POST /orders"
headers = {{ "Idempotency-Key" = "{{key_uuid}}", "X-Delivery" = "{{delivery}}" }}
json = {{ item = "{{value}}" }}
receipt = "/id"
[writes]
request = "GET /test/orders"
count = "/count"
"""

Route: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def running(*argv: str) -> Iterator[int]:
    """The program, which says on stdout where it listens; its port."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            (port,) = re.findall(r"listening on (\d+)", process.stdout.readline())
            yield int(port)
        finally:
            process.kill()


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answering(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Route:
    """A route that answers so."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


GOOD_ROUTES: dict[str, Route] = {
    "GET /": answering(404),
    "POST /test/reset": answering(204),
    "POST /test/clock": answering(204),
    "POST /orders": answering(201, b'{"id": 7}'),
    "GET /test/orders": answering(200, b'{"count": 0}'),
}


@contextmanager
def misbehaving(routes: Mapping[str, Route]) -> Iterator[int]:
    """A server whose routes, by "METHOD /path", are the good ones but for these; its port."""
    table = {**GOOD_ROUTES, **routes}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.handle_request()

        def do_POST(self) -> None:
            self.handle_request()

        def handle_request(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            self.rfile.read(length)
            try:
                table[f"{self.command} {self.path}"](self)
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_service(
    folder: Path,
    text: str,
    *,
    cases: tuple[str, ...] = (),
    call_seconds: float = 2.0,
    keep_going: bool = False,
) -> Report:
    """Drives the service that a SERVICE.toml of this text describes; no process may be added."""
    file = folder / "service.toml"
    file.write_text(text)
    processes = psutil.Process().children(recursive=True)
    limits = Limits(call_seconds=call_seconds)
    request = RunRequest(http_service(str(file), {}), cases, limits, keep_going)
    report = drive(BUNDLE, request)
    assert_conserved(report)
    assert psutil.Process().children(recursive=True) == processes
    return report


def message_of(report: Report) -> str:
    """The adapter's own words for what went wrong with the first case."""
    failure = report.cases[0].failure
    assert failure is not None
    assert failure.kind == "adapter-error"
    before, _, message = failure.message.partition("with the error -32000: ")
    assert before == f"The adapter answered `{failure.call.method}` "
    return message

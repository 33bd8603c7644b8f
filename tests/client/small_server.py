"""A small HTTP server on a Unix socket that answers as a test says, one reply a request."""

import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

Reply: TypeAlias = Callable[["Handler"], None]


class Request(NamedTuple):
    """What a client sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """Reads a request whole, and has the next reply given."""

    protocol_version = "HTTP/1.1"
    server: "_Server"
    request_read: Request

    def handle_one_request(self) -> None:
        self.close_connection = True
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.request_read = Request(self.command, self.path, dict(self.headers), body)
        self.server.next_reply(self.request_read)(self)

    def answer(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class _Server(ThreadingMixIn, UnixStreamServer):
    def __init__(self, path: Path, next_reply: Callable[[Request], Reply]) -> None:
        self.next_reply = next_reply
        self.stopping = threading.Event()
        super().__init__(str(path), Handler)

    def handle_error(self, *_: Any) -> None:
        """A client that has gone is no error."""


class SmallServer:
    """Listens from `start` to `stop`; as a context manager, within it.

    Attributes:
        socket: where it listens.
        requests: what it was sent.
    """

    def __init__(self, *replies: Reply) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rp-"))
        self.socket = self.folder / "s"
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._server: _Server | None = None
        self._thread = threading.Thread()

    def __enter__(self) -> "SmallServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder)
        if error is None:
            assert self._replies == [], "not all replies were asked for"

    def start(self) -> None:
        self._server = _Server(self.socket, self._next_reply)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        if self._server is None:
            return
        self._server.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None
        self.socket.unlink()

    def _next_reply(self, request: Request) -> Reply:
        self.requests.append(request)
        return self._replies.pop(0) if self._replies else says(500, {"unexpected": True})


def says(status: int, document: Any, **headers: str) -> Reply:
    """Answers with this JSON document."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(status, json.dumps(document).encode(), named)


def refuses(status: int, code: str, message: str, path: str = "", **headers: str) -> Reply:
    """Answers with a problem."""
    return says(status, {"error": {"code": code, "message": message, "path": path}}, **headers)


def breaks_off(_handler: Handler) -> None:
    """Reads the request, and closes the connection."""


def says_nothing(handler: Handler) -> None:
    """Keeps the connection until the test is over."""
    handler.server.stopping.wait()


def streams(*messages: str) -> Reply:
    """Sends these messages, then closes the connection."""

    def reply(handler: Handler) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write("".join(messages).encode())

    return reply


def message(kind: str, document: Any, number: int | None = None) -> str:
    """A server-sent event."""
    head = "" if number is None else f"id: {number}\n"
    data = json.dumps(document, ensure_ascii=False)
    return f"{head}event: {kind}\ndata: {data}\n\n"

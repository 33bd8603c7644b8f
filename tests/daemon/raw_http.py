"""A real server on a real socket, and clients that write bytes, as badly behaved as they like."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from retryproof.daemon.connections import ConnectionLimits, QuietServer, server_config
from starlette.types import ASGIApp, Receive, Scope, Send

PATIENCE_SECONDS = 20


class Answer(NamedTuple):
    """An answer taken apart; names of headers in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@contextmanager
def served(
    app: ASGIApp, listener: socket.socket, limits: ConnectionLimits | None = None
) -> Iterator[QuietServer]:
    """Serves the app at a listening socket, in a thread of its own, until the end of the block."""
    server = QuietServer(server_config(app, limits))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def connect(listener: socket.socket) -> socket.socket:
    """A client's socket; every wait at it is bounded."""
    client = socket.socket(listener.family, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_SECONDS)
    client.connect(listener.getsockname())
    return client


def exchange(listener: socket.socket, request: bytes) -> Answer:
    """Sends bytes that are a whole request with `Connection: close`; the answer to it."""
    with connect(listener) as client:
        client.sendall(request)
        return parse(read_to_end(client))


def read_to_end(client: socket.socket) -> bytes:
    """All that comes until the server closes or aborts."""
    received = b""
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def read_until(client: socket.socket, end: bytes, at_once: int = 1) -> bytes:
    """What comes, up to the end that is looked for; fails if the connection ends first.

    More than a byte may be read at once where nothing comes behind the end.
    """
    received = bytearray()
    while not received.endswith(end):
        chunk = client.recv(at_once)
        assert chunk, f"the connection ended after {bytes(received[-1000:])!r}"
        received += chunk
    return bytes(received)


def read_answer(client: socket.socket) -> Answer:
    """One answer of a connection that goes on."""
    head = read_until(client, b"\r\n\r\n")
    length = int(parse(head).headers.get("content-length", "0"))
    body = b""
    while len(body) < length:
        body += client.recv(length - len(body))
    return parse(head + body)


def parse(answer: bytes) -> Answer:
    """The bytes of an answer, taken apart."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), {n.lower(): v for n, v in headers.items()}, body)


async def answer_plainly(send: Send, body: bytes = b"done", status: int = 200) -> None:
    """A whole answer."""
    length = str(len(body)).encode()
    headers = [(b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    """An app that answers with the body of the request."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            await answer_plainly(send, body)
            return

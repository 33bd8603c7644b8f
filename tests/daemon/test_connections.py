"""Clients that are slow, silent, deaf or gone, at a real server on real sockets."""

import asyncio
import contextlib
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from retryproof.daemon.connections import (
    MAX_HEADER_BYTES,
    BoundedConnection,
    ConnectionLimits,
    QuietServer,
    server_config,
)
from retryproof.daemon.listening import bind_loopback, bind_unix
from starlette.types import Message, Receive, Scope, Send

from tests.cli.command import wait_for
from tests.daemon.raw_http import (
    answer_plainly,
    connect,
    echo,
    exchange,
    read_answer,
    read_to_end,
    read_until,
    served,
)

CUTTING = ConnectionLimits(request_seconds=0.3)
"""For connections that are all to be cut."""
QUICK = ConnectionLimits(request_seconds=1)
"""For some that are to be cut beside others that must not be, on a busy machine too."""
SENDING = ConnectionLimits(request_seconds=60, send_stall_seconds=0.3)
PATIENT = ConnectionLimits(request_seconds=60, send_stall_seconds=60, keep_alive_seconds=60)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
MEBIBYTE = 1024 * 1024


@pytest.fixture(params=["unix", "tcp"])
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    """Both kinds that there are: how much they buffer differs."""
    if request.param == "tcp":
        with bind_loopback("127.0.0.1:0") as bound:
            yield bound
    else:
        with bind_unix(tmp_path / "run" / "s.sock").socket as bound:
            yield bound


class Streaming:
    """An app that answers in pieces as the test has it, and tells how it ended."""

    def __init__(self, first: bytes = b"first") -> None:
        self.first = first
        self.messages: list[Message] = []
        self.ended = threading.Event()
        self.go_on = threading.Event()

    async def wait(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Answers when the test says so."""
        await asyncio.to_thread(self.go_on.wait)
        await answer_plainly(send)

    async def stream(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """A piece at once, and another when the test says so."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.first, "more_body": True})
        await asyncio.to_thread(self.go_on.wait)
        await send({"type": "http.response.body", "body": b"last"})

    async def flood(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Pieces without end, until the client is gone."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.ensure_future(receive())
        self.messages.append(await gone)
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
        self.messages.append(gone.result())
        self.ended.set()

    async def listen(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Takes in what comes until the client is gone, and never answers."""
        while not self.messages or self.messages[-1]["type"] != "http.disconnect":
            self.messages.append(await receive())
        self.ended.set()


def drip(client: socket.socket, data: bytes) -> bytes:
    """Sends byte by byte until the server has had enough; what it sent."""
    client.settimeout(0.02)
    received = b""
    deadline = time.monotonic() + 20
    for byte in data:
        assert time.monotonic() < deadline
        try:
            client.sendall(bytes([byte]))
            chunk = client.recv(65536)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return received
        if not chunk:
            return received
        received += chunk
    raise AssertionError("the server took it all")


def is_paused(connection: object) -> bool:
    """Whether the client has more to read than the kernel takes."""
    return isinstance(connection, BoundedConnection) and connection.flow.write_paused


def vanish(client: socket.socket) -> None:
    """Ends the connection as the kernel does for a process that died with data unread."""
    if client.family != socket.AF_UNIX:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class TestSlow:
    def test_a_silent_client_is_cut_and_others_are_served(self, listener: socket.socket) -> None:
        with served(echo, listener, QUICK), connect(listener) as silent:
            with connect(listener) as other:
                other.sendall(POST % 2 + b"hi")
                assert read_answer(other).body == b"hi"
            assert read_to_end(silent) == b""

    @pytest.mark.parametrize(
        "request_",
        [
            b"GET /" + b"x" * 5000,
            b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 5000,
            b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000,
            POST % 5000 + b"x" * 5000,
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"1\r\nx\r\n" * 999,
        ],
        ids=["target", "header", "headers", "body", "chunks"],
    )
    def test_byte_by_byte(self, listener: socket.socket, request_: bytes) -> None:
        with served(echo, listener, CUTTING) as server, connect(listener) as client:
            assert drip(client, request_) == b""
            wait_for(lambda: not server.server_state.connections, "the end of the connection")

    def test_the_app_learns_that_a_slow_body_will_not_come(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.listen, listener, QUICK), connect(listener) as client:
            client.sendall(POST % 10 + b"12345")
            assert read_to_end(client) == b""
            assert app.ended.wait(20)
        assert b"".join(message.get("body", b"") for message in app.messages) == b"12345"
        assert app.messages[-1]["type"] == "http.disconnect"

    def test_a_body_that_goes_on_after_its_answer(self, listener: socket.socket) -> None:
        async def refuse(_scope: Scope, receive: Receive, send: Send) -> None:
            await answer_plainly(send, b"no", 401)

        with served(refuse, listener, QUICK), connect(listener) as client:
            client.sendall(POST % 5000)
            assert read_answer(client).status == 401
            assert drip(client, b"x" * 4999) == b""

    def test_after_it_has_come_the_connection_can_be_used(self, listener: socket.socket) -> None:
        async def refuse(_scope: Scope, receive: Receive, send: Send) -> None:
            await answer_plainly(send, b"no", 401)

        with served(refuse, listener, QUICK), connect(listener) as client:
            started = time.monotonic()
            while time.monotonic() < started + 1.5 * QUICK.request_seconds:
                client.sendall(POST % 10)
                assert read_answer(client).status == 401
                client.sendall(b"0123456789")
            assert read_to_end(client) == b""  # And afterwards it is not forgotten.

    def test_nor_does_the_next_request_that_comes_with_its_end_have_less_time(
        self, listener: socket.socket
    ) -> None:
        async def refuse(_scope: Scope, receive: Receive, send: Send) -> None:
            await answer_plainly(send, b"no", 401)

        with served(refuse, listener, QUICK), connect(listener) as client:
            client.sendall(POST % 10)
            started = time.monotonic()
            while time.monotonic() < started + 1.5 * QUICK.request_seconds:
                assert read_answer(client).status == 401
                client.sendall(b"0123456789" + POST % 10)

    def test_a_later_request_has_its_own_time(self, listener: socket.socket) -> None:
        with served(echo, listener, QUICK), connect(listener) as client:
            client.sendall(GET)
            assert read_answer(client).status == 200
            client.sendall(GET[:5])
            assert read_to_end(client) == b""

    def test_from_its_first_byte(self, listener: socket.socket) -> None:
        with served(echo, listener, QUICK), connect(listener) as client:
            started = time.monotonic()
            while time.monotonic() < started + 1.5 * QUICK.request_seconds:
                client.sendall(POST % 4 + b"12")
                client.sendall(b"34")
                assert read_answer(client).body == b"1234"

    def test_many_at_once_on_one_connection(self, listener: socket.socket) -> None:
        with served(echo, listener, PATIENT), connect(listener) as client:
            client.sendall((POST % 3 + b"abc") * 200 + GET[:5])
            for _ in range(200):
                assert read_answer(client).body == b"abc"
            client.sendall(GET[5:])
            assert read_answer(client).status == 200

    def test_what_is_begun_behind_others_is_timed_too(self, listener: socket.socket) -> None:
        with served(echo, listener, QUICK), connect(listener) as client:
            client.sendall(GET * 3 + GET[:5])
            for _ in range(3):
                assert read_answer(client).status == 200
            assert drip(client, b"x" * 5000) == b""

    def test_so_is_a_body_behind_others(self, listener: socket.socket) -> None:
        with served(echo, listener, QUICK), connect(listener) as client:
            client.sendall(GET * 3 + POST % 10 + b"123")
            for _ in range(3):
                assert read_answer(client).status == 200
            assert read_to_end(client) == b""

    def test_an_idle_connection_is_closed(self, listener: socket.socket) -> None:
        limits = ConnectionLimits(keep_alive_seconds=1)
        with served(echo, listener, limits), connect(listener) as client:
            client.sendall(GET)
            read_answer(client)
            assert client.recv(1) == b""

    def test_an_app_may_take_longer_than_a_client(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.wait, listener, QUICK), connect(listener) as client:
            client.sendall(GET)
            with connect(listener) as silent:
                assert read_to_end(silent) == b""  # So much time has gone by.
            app.go_on.set()
            assert read_answer(client).body == b"done"

    def test_so_may_an_answer_in_pieces(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.stream, listener, QUICK), connect(listener) as client:
            client.sendall(GET)
            read_until(client, b"first\r\n")
            with connect(listener) as silent:
                assert read_to_end(silent) == b""
            app.go_on.set()
            assert read_until(client, b"0\r\n\r\n").endswith(b"last\r\n0\r\n\r\n")


def taken_at_once(family: int) -> int:
    """How many bytes the kernel takes from a server whose client does not read."""
    with socket.socket(family) as acceptor, socket.socket(family) as client:
        acceptor.bind("" if family == socket.AF_UNIX else ("127.0.0.1", 0))
        acceptor.listen()
        client.connect(acceptor.getsockname())
        server, _ = acceptor.accept()
        with server:
            server.setblocking(False)
            return server.send(b"x" * 64 * MEBIBYTE)


class TestDeaf:
    def test_a_flood_that_nobody_reads_ends(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.flood, listener, SENDING) as server, connect(listener) as client:
            client.sendall(GET)
            assert app.ended.wait(20)
            assert app.messages[-1]["type"] == "http.disconnect"
            wait_for(lambda: not server.server_state.connections, "the end of the connection")

    def test_an_answer_that_is_not_read_to_its_end(self, listener: socket.socket) -> None:
        self.check_unread(listener, taken_at_once(listener.family) + 4 * MEBIBYTE)

    @pytest.mark.parametrize("surplus", [2_000, 20_000, 50_000])
    def test_its_last_bytes(self, tmp_path: Path, surplus: int) -> None:
        # What a TCP connection takes is not the same each time.
        with bind_unix(tmp_path / "run" / "s.sock").socket as listener:
            self.check_unread(listener, taken_at_once(socket.AF_UNIX) + surplus)

    def check_unread(self, listener: socket.socket, size: int) -> None:
        async def answer(_scope: Scope, receive: Receive, send: Send) -> None:
            await answer_plainly(send, b"x" * size)

        with served(answer, listener, SENDING) as server, connect(listener) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            wait_for(lambda: server.server_state.total_requests == 1, "the answer")
            wait_for(lambda: not server.server_state.connections, "the end of the connection")
            assert len(read_to_end(client)) < size

    def test_requests_without_end_whose_answers_are_not_read(self, listener: socket.socket) -> None:
        request = POST % MEBIBYTE + b"x" * MEBIBYTE
        with served(echo, listener, SENDING) as server, connect(listener) as client:
            client.settimeout(0.02)
            while True:
                try:
                    client.sendall(request)
                except TimeoutError:
                    wait_for(lambda: not server.server_state.connections, "the cut")
                except (ConnectionResetError, BrokenPipeError):
                    break

    def test_a_reader_that_comes_back_in_time_is_kept(self, listener: socket.socket) -> None:
        limits = ConnectionLimits(request_seconds=1, send_stall_seconds=1)
        app = Streaming(b"x" * 4 * MEBIBYTE + b"first")
        with served(app.stream, listener, limits) as server, connect(listener) as client:
            client.sendall(GET)
            wait_for(lambda: any(map(is_paused, server.server_state.connections)), "a full buffer")
            read_until(client, b"first\r\n", MEBIBYTE)
            with connect(listener) as silent:
                assert read_to_end(silent) == b""  # So much time has gone by.
            app.go_on.set()
            assert read_until(client, b"0\r\n\r\n").endswith(b"last\r\n0\r\n\r\n")

    def test_a_reader_that_takes_its_time_gets_all(self, listener: socket.socket) -> None:
        body = bytes(range(256)) * 4096 * 8

        async def answer(_scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for start in range(0, len(body), MEBIBYTE):
                piece = body[start : start + MEBIBYTE]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        with served(answer, listener, PATIENT), connect(listener) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            received = read_to_end(client)
        assert received.endswith(b"\r\n\r\n" + body)


class TestVanishing:
    @pytest.mark.parametrize("sent", [b"", GET[:5], POST % 10, POST % 10 + b"123", POST % 0, GET])
    def test_at_any_point_of_a_request(self, listener: socket.socket, sent: bytes) -> None:
        app = Streaming()
        with served(app.listen, listener, PATIENT) as server:
            client = connect(listener)
            client.sendall(sent)
            if b"\r\n\r\n" in sent:
                wait_for(lambda: bool(server.server_state.tasks), "the call of the app")
            vanish(client)
            if b"\r\n\r\n" in sent:
                assert app.ended.wait(20)
            wait_for(lambda: not server.server_state.connections, "the end of the connection")
            wait_for(lambda: not server.server_state.tasks, "the end of the app")

    def test_in_the_middle_of_an_answer(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.flood, listener, PATIENT) as server:
            client = connect(listener)
            client.sendall(GET)
            client.recv(100)
            vanish(client)
            assert app.ended.wait(20)
            wait_for(lambda: not server.server_state.connections, "the end of the connection")

    def test_after_it_was_not_read_for_a_while(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.flood, listener, PATIENT) as server:
            client = connect(listener)
            client.sendall(GET)
            wait_for(lambda: any(map(is_paused, server.server_state.connections)), "a full buffer")
            vanish(client)
            assert app.ended.wait(20)

    def test_two_hundred_of_them(self, listener: socket.socket) -> None:
        with served(echo, listener, PATIENT) as server:
            for _ in range(200):
                client = connect(listener)
                client.sendall(POST % 10 + b"123")
                vanish(client)
            wait_for(lambda: not server.server_state.connections, "the end of the connections")
            wait_for(lambda: not server.server_state.tasks, "the end of the app")
            assert exchange(listener, b"GET / HTTP/1.0\r\n\r\n").status == 200


class TestLimits:
    @pytest.mark.parametrize("endless", [b"x", b"x\r\nX: y"])
    def test_headers(self, listener: socket.socket, endless: bytes) -> None:
        head = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: "
        with served(echo, listener, PATIENT):
            most = b"x" * (MAX_HEADER_BYTES - len(head) - len(b"\r\n\r\n"))
            assert exchange(listener, head + most + b"\r\n\r\n").status == 200
            with connect(listener) as client:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    client.sendall(head + endless * MEBIBYTE)
                answer = read_to_end(client)
                assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")

    def test_connections(self, listener: socket.socket) -> None:
        limits = ConnectionLimits(request_seconds=60, served_connections=3, connections=5)
        with served(echo, listener, limits) as server:
            clients = [connect(listener) for _ in range(5)]
            wait_for(lambda: len(server.server_state.connections) == 5, "the connections")
            with connect(listener) as sixth:
                assert read_to_end(sixth) == b""
            clients[4].sendall(GET)
            assert read_answer(clients[4]).status == 503
            assert read_to_end(clients[4]) == b""
            clients[3].sendall(GET)
            assert read_answer(clients[3]).status == 503
            wait_for(lambda: len(server.server_state.connections) == 3, "two ends")
            clients[2].sendall(GET)
            assert read_answer(clients[2]).status == 200
            for client in clients:
                client.close()

    def test_silent_ones_hold_their_places_only_so_long(self, listener: socket.socket) -> None:
        limits = ConnectionLimits(request_seconds=0.4, served_connections=3, connections=5)
        with served(echo, listener, limits) as server:
            clients = [connect(listener) for _ in range(20)]
            assert [read_to_end(client) for client in clients] == [b""] * 20
            wait_for(lambda: not server.server_state.connections, "the end of the silent ones")
            assert exchange(listener, b"GET / HTTP/1.0\r\n\r\n").status == 200
            for client in clients:
                client.close()

    def test_two_hundred_streams_at_once(self, listener: socket.socket) -> None:
        app = Streaming()
        with served(app.listen, listener) as server:
            clients = [connect(listener) for _ in range(200)]
            for client in clients:
                client.sendall(GET)
            wait_for(lambda: len(server.server_state.tasks) == 200, "200 calls of the app")
            for client in clients:
                client.close()
            wait_for(lambda: not server.server_state.connections, "the end of the connections")


class TestConfiguration:
    def test_signals_are_left_alone(self) -> None:
        seen = []

        async def serve() -> None:
            with bind_loopback("127.0.0.1:0") as bound:
                server = QuietServer(server_config(echo))
                task = asyncio.create_task(server.serve(sockets=[bound]))
                while not server.started:
                    await asyncio.sleep(0)
                seen.append(signal.getsignal(signal.SIGTERM))
                seen.append(signal.getsignal(signal.SIGINT))
                server.should_exit = True
                await task

        before = signal.getsignal(signal.SIGTERM)
        with asyncio.Runner() as runner:
            runner.run(serve())
        assert seen[0] is before
        assert not isinstance(getattr(seen[1], "__self__", None), QuietServer)

    def test_the_environment_has_no_say(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WEB_CONCURRENCY", "7")
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
        config = server_config(echo)
        assert config.workers == 1
        assert not config.proxy_headers

    def test_who_calls_is_not_what_a_header_says(self, listener: socket.socket) -> None:
        async def tell(scope: Scope, receive: Receive, send: Send) -> None:
            await answer_plainly(send, f"{scope['client']} {scope['scheme']}".encode())

        with served(tell, listener, PATIENT):
            answer = exchange(
                listener,
                b"GET / HTTP/1.0\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n\r\n",
            )
        assert b"6.6.6.6" not in answer.body
        assert answer.body.endswith(b"http")
        assert "server" not in answer.headers

    def test_a_stop_waits_for_nobody_for_long(self, listener: socket.socket) -> None:
        app = Streaming()
        with (
            connect(listener) as silent,
            connect(listener) as begun,
            connect(listener) as waiting,
        ):
            with served(app.listen, listener, PATIENT) as server:
                begun.sendall(GET[:5])
                waiting.sendall(GET)
                wait_for(lambda: len(server.server_state.connections) == 3, "the connections")
                wait_for(lambda: len(server.server_state.tasks) == 1, "the call of the app")
            for client in (silent, begun, waiting):
                read_to_end(client)

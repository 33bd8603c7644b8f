"""The HTTP server for clients that are slow, silent or gone: uvicorn, with limits that it lacks.

uvicorn never cuts off a client that connects and says nothing, that sends its request byte by
byte, or that does not read its answer, and accepts as many as come.
"""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from typing import Any

import h11
import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from .problems import problem_response

REQUEST_SECONDS = 10.0
"""For a whole request. The largest has 1 MiB: a thousandth of what a loopback connection takes."""
SEND_STALL_SECONDS = 30.0
"""For a client to take what is sent: one that is stopped for a moment, or pages, comes back."""
KEEP_ALIVE_SECONDS = 5
"""Between two requests; uvicorn's own default."""
STOP_SECONDS = 3
"""At a stop, until the application is cancelled: well below the ten seconds that all may take."""
LAST_ANSWER_SECONDS = STOP_SECONDS - 1.0
"""At a stop, for answers that are under way."""
MAX_SERVED_CONNECTIONS = 512
"""More than 200 followers and what else a team needs; a descriptor each, of the usual 1,024."""
MAX_CONNECTIONS = MAX_SERVED_CONNECTIONS + 64
"""So many more are answered 503; further ones would only cost descriptors, and are cut at once."""
MAX_HEADER_BYTES = 64 * 1024
"""Far more than any client has reason to send."""


class ConnectionLimits(Struct, frozen=True):
    """Limits on the clients of one server.

    Attributes:
        request_seconds: from connecting, or from the first byte of a later request, to the last
            byte of its body.
        send_stall_seconds: for a client to take what the server has to send to it.
        keep_alive_seconds: between an answer and the next request.
        served_connections: beyond these a request is answered 503.
        connections: beyond these a connection is cut at once.
    """

    request_seconds: float = REQUEST_SECONDS
    send_stall_seconds: float = SEND_STALL_SECONDS
    keep_alive_seconds: int = KEEP_ALIVE_SECONDS
    served_connections: int = MAX_SERVED_CONNECTIONS
    connections: int = MAX_CONNECTIONS


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration as the daemon uses it, and the limits. See `server_config`."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        super().__init__(
            app,
            loop="asyncio",
            http=BoundedConnection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            # What a client does wrong is told to the client: it must not fill the log.
            log_level="error",
            access_log=False,
            # The environment would set it otherwise.
            workers=1,
            proxy_headers=False,
            server_header=False,
            # uvicorn counts the connection that asks, too.
            limit_concurrency=limits.served_connections + 1,
            timeout_keep_alive=limits.keep_alive_seconds,
            timeout_graceful_shutdown=STOP_SECONDS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        )
        self.limits = limits


def server_config(app: ASGIApp, limits: ConnectionLimits | None = None) -> BoundedConfig:
    """The configuration of a server for the app, for any number of sockets.

    The limits on connections hold for each server on its own: with one for TCP and one for Unix,
    whoever floods the first can't keep the user from the second.
    """
    return BoundedConfig(app, limits or ConnectionLimits())


class QuietServer(uvicorn.Server):
    """A server that leaves signals to whoever runs it; `should_exit = True` stops it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Captures none."""
        yield


class BoundedConnection(H11Protocol):
    """One client's connection, aborted when the client exceeds a limit.

    Aborted, not closed: a close waits until the client has read what was sent.
    """

    def __init__(
        self,
        config: BoundedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._max_connections = config.limits.connections
        self._request = _Deadline(self.loop, config.limits.request_seconds, self._abort)
        self._sending = _Deadline(self.loop, config.limits.send_stall_seconds, self._abort)
        self._leaving = _Deadline(self.loop, LAST_ANSWER_SECONDS, self._abort)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the time for the first request."""
        super().connection_made(transport)
        # Whatever the kernel does not take at once counts as paused, so that it is timed.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self._max_connections:
            self._abort()
        else:
            self._request.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends all times."""
        self._request.stop()
        self._sending.stop()
        self._leaving.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Starts the time for a further request with its first byte, and ends it with its last."""
        was_in_body, cycle = self.conn.their_state is h11.SEND_BODY, self.cycle
        super().data_received(data)
        if was_in_body and (self.conn.their_state is h11.IDLE or self.cycle is not cycle):
            # It was answered before its end, and uvicorn does not time what comes next; or that
            # came along with the end, and has a time of its own.
            self._request.stop()
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing():
            self._request.start()
        else:
            self._request.stop()

    def on_response_complete(self) -> None:
        """Times the body of a request that was waiting behind this one."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._request.start()

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP, in the form that all problems have."""
        problem = problem_response(400, "not-http", "This is not a request of HTTP/1.1.")
        headers = [*problem.raw_headers, (b"connection", b"close")]
        answer = (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(problem.body)),
            h11.EndOfMessage(),
        )
        try:
            data = b"".join(self.conn.send(event) or b"" for event in answer)
        except h11.LocalProtocolError:  # Another answer is under way.
            self._abort()
            return
        if self.cycle is not None:  # What the application would answer comes too late.
            self.cycle.disconnected = True
        self.transport.write(data)
        self.transport.close()

    def shutdown(self) -> None:
        """Lets an answer that is under way be sent, but waits for no request to become whole.

        The connection is cut before the application is cancelled, which uvicorn would log as a
        failure of the application.
        """
        if self.conn.their_state is h11.SEND_BODY:
            self._abort()
        else:
            super().shutdown()
            self._leaving.start()

    def pause_writing(self) -> None:
        """Starts the time for the client to read."""
        super().pause_writing()
        self._sending.start()

    def resume_writing(self) -> None:
        """The client has read all that there was."""
        self._sending.stop()
        super().resume_writing()

    def _abort(self) -> None:
        self.transport.abort()


class _Deadline:
    """Does something if it is not stopped in time."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, action: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._action = action
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts the time, unless it runs already."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._action)

    def stop(self) -> None:
        """Forgets it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

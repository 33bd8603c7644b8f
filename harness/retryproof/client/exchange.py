"""HTTP over the daemon's Unix socket: bytes there and back, and what may come of it as errors."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
from msgspec import Struct

from ..errors import DaemonAnswerError, DaemonUnavailableError, LostConnectionError

SILENCE_SECONDS = 45.0
"""A stream of events has a heartbeat every 15 seconds."""
MAX_EVENT_BYTES = 16 * 1024 * 1024


class Answer(Struct, frozen=True):
    """A whole answer."""

    status: int
    content: bytes
    retry_after: str | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether it is a problem instead of what was asked for."""
        return self.status >= httpx2.codes.BAD_REQUEST


class Message(Struct, frozen=True):
    """A server-sent event: its number, which kind it is, and its JSON."""

    id: str
    kind: str
    data: str


class Exchange:
    """Requests to one socket, each on a connection of its own.

    Every method raises:
        DaemonUnavailableError: nobody took the request.
        LostConnectionError: it was taken, or may have been, and the whole answer is missing.
        DaemonAnswerError: what came is no stream of events.
    """

    def __init__(self, socket: Path, answer_seconds: float) -> None:
        self._socket = socket
        self._stream_timeout = httpx2.Timeout(answer_seconds, read=SILENCE_SECONDS)
        self._http = httpx2.Client(
            transport=httpx2.HTTPTransport(
                uds=str(socket),
                # A kept connection may be closed just when the next request is sent on it.
                limits=httpx2.Limits(max_keepalive_connections=0),
            ),
            base_url="http://retryproof",
            timeout=answer_seconds,
            headers={"Connection": "close", "Accept-Encoding": "identity"},
        )

    def close(self) -> None:
        """Closes what is open."""
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        query: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """The answer to a request."""
        with self._telling():
            response = self._http.request(
                method, path, content=content, headers=headers, params=list(query)
            )
        return _answer(response)

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], query: Sequence[tuple[str, str]] = ()
    ) -> Iterator[Answer | Iterator[Message]]:
        """The messages as they come, or the answer that refuses them."""
        with (
            self._telling(),
            self._http.sse(
                path,
                headers=headers,
                params=list(query),
                timeout=self._stream_timeout,
                max_event_size=MAX_EVENT_BYTES,
            ) as source,
        ):
            if source.response.is_error:
                source.response.read()
                yield _answer(source.response)
            else:
                yield (Message(sent.id, sent.event, sent.data) for sent in source)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise _unavailable(self._socket, _cause(error)) from None
        except httpx2.TimeoutException:
            raise LostConnectionError(
                f"The daemon at {self._socket} has not answered in time.", _ASK_IT, timed_out=True
            ) from None
        except httpx2.SSEError as error:
            raise DaemonAnswerError(
                f"What answers at {self._socket} sends no events: {error}", _ASK_IT
            ) from None
        except httpx2.RequestError:
            raise LostConnectionError(
                f"The daemon at {self._socket} broke off before its answer was in.", _ASK_IT
            ) from None


_ASK_IT = "`retryproof status` tells how it is."


def _answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, response.content, response.headers.get("Retry-After"))


def _unavailable(socket: Path, cause: int | None) -> DaemonUnavailableError:
    if cause in {errno.EACCES, errno.EPERM}:
        return DaemonUnavailableError(
            f"You may not use the daemon at {socket}: permission denied.",
            "It is another user's. Start your own, retryproof serve, or name its socket with "
            "--socket.",
        )
    return DaemonUnavailableError(f"No daemon answers at {socket}.", "Start one: retryproof serve")


def _cause(error: BaseException | None) -> int | None:
    """The number of the system's error at the end of the chain."""
    while error is not None:
        if isinstance(error, OSError):
            return error.errno
        error = error.__cause__ or error.__context__
    return None

"""Sends the requests of a SERVICE.toml, each on a connection of its own, and reads the answers."""

from collections.abc import Callable
from typing import NamedTuple, TypedDict

import httpx2

from .answers import Answer, CallError, NoAnswerError
from .log import Log
from .request import Request
from .templates import Values, fill, fill_text

MAX_ANSWER_BYTES = 1024 * 1024
_PROBE_SECONDS = 1.0
_NOT_YET = frozenset({502, 503, 504})
"""What a service, or a proxy before it, answers while it is still starting."""
_LIMITS = httpx2.Limits(max_keepalive_connections=0)
"""A kept connection may be closed by the service just when the next request is sent."""


class _Options(TypedDict):
    trust_env: bool
    follow_redirects: bool
    headers: dict[str, str]


_OPTIONS: _Options = {
    # The service itself is tested: no proxy, no redirect, nothing out of the environment.
    "trust_env": False,
    "follow_redirects": False,
    "headers": {"Connection": "close", "Accept-Encoding": "identity", "User-Agent": "retryproof"},
}


class Client:
    """Speaks to one service. Waits without an end: the runner has the bound on every call."""

    def __init__(self, base_url: str, why_silent: Callable[[], str], log: Log) -> None:
        """`why_silent` says what may be wrong with a service that can't be reached.

        Raises:
            CallError: the base URL is none.
        """
        try:
            self._http = httpx2.Client(base_url=base_url, timeout=None, limits=_LIMITS, **_OPTIONS)
        except httpx2.InvalidURL as error:
            raise CallError("base_url", f"{base_url} is no URL: {error}.") from None
        self._why_silent = why_silent
        self._log = log

    def send(self, request: Request, values: Values) -> Answer:
        """The answer to the request, its placeholders filled.

        Raises:
            NoAnswerError: the service ended the connection before that.
            CallError: it can't be reached, or its answer is longer than a MiB.
        """
        place = f"{request.table} request"
        try:
            built = self._http.build_request(
                request.method,
                fill_text(request.target, values),
                headers={name: fill_text(text, values) for name, text in request.headers.items()},
                json=fill(request.json, values),
                content=None if request.body is None else fill_text(request.body, values),
            )
        except httpx2.InvalidURL as error:
            raise CallError(place, f"{request.target} is no URL: {error}.") from None
        label = f"{request.method} {built.url}"
        try:
            with self._log.doing(f"{place}: {label}"):
                return self._exchange(built, label)
        except httpx2.ConnectError as error:
            reason = f"{label} can't be sent: {_reason(error)}. {self._why_silent()}"
            raise CallError(place, reason) from None
        except httpx2.HTTPError as error:
            reason = f"{label} has no whole answer: {_reason(error)}. {self._why_silent()}"
            raise NoAnswerError(place, reason) from None
        except _TooLongError:
            raise CallError(place, f"the answer to {label} is longer than 1 MiB.") from None

    def close(self) -> None:
        """Closes what is open."""
        self._http.close()

    def _exchange(self, request: httpx2.Request, label: str) -> Answer:
        response = self._http.send(request, stream=True)
        try:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    raise _TooLongError
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        source = f"the answer to {label} ({response.status_code})"
        return Answer(source, response.status_code, headers, bytes(body))


class Probe(NamedTuple):
    """What came of one look at the base URL: a status, or the reason why there is none."""

    status: int | None
    reason: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether the service has started, whatever it thinks of this URL."""
        return self.status is not None and self.status not in _NOT_YET


def probe(base_url: str) -> Probe:
    """Looks once whether a service answers at its base URL, for at most a second a read."""
    try:
        with httpx2.stream("GET", base_url, timeout=_PROBE_SECONDS, **_OPTIONS) as response:
            return Probe(response.status_code, f"it answers {response.status_code}")
    except httpx2.InvalidURL as error:
        raise CallError("base_url", f"{base_url} is no URL: {error}.") from None
    except httpx2.HTTPError as error:
        return Probe(None, _reason(error))


class _TooLongError(Exception):
    pass


def _reason(error: httpx2.HTTPError) -> str:
    text = str(error).rstrip(".")
    return text.partition("] ")[2] if text.startswith("[Errno") else text or type(error).__name__

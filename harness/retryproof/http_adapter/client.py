"""Sends the requests of a SERVICE.toml, each on a connection of its own, and reads the answers."""

import sys
from collections.abc import Callable

import httpx2

from .answers import Answer, CallError
from .config import Request
from .templates import Values, fill, fill_text

MAX_ANSWER_BYTES = 1024 * 1024
_PROBE_SECONDS = 1.0
_NOT_YET = frozenset({502, 503, 504})
"""What a service, or a proxy before it, answers while it is still starting."""
_OPTIONS = {
    # The service itself is tested: no proxy, no redirect, nothing out of the environment.
    "trust_env": False,
    "follow_redirects": False,
    # A kept connection may be closed by the service just when the next request is sent.
    "limits": httpx2.Limits(max_keepalive_connections=0),
    "headers": {"Connection": "close", "Accept-Encoding": "identity", "User-Agent": "retryproof"},
}


class Client:
    """Speaks to one service. Waits without an end: the runner has the bound on every call.

    Attributes:
        pending: the request that has no answer yet, in words, or None.
    """

    def __init__(self, base_url: str, why_silent: Callable[[], str]) -> None:
        """`why_silent` says what may be wrong with a service that can't be reached."""
        self._http = httpx2.Client(base_url=base_url, timeout=None, **_OPTIONS)
        self._why_silent = why_silent
        self.pending: str | None = None

    def send(self, request: Request, values: Values) -> Answer:
        """The answer to the request, its placeholders filled.

        Raises:
            CallError: there is no whole answer, or one of more than a MiB.
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
        self.pending = f"{place}: {label}"
        sys.stderr.write(f"{self.pending}\n")
        try:
            return self._exchange(built, label)
        except httpx2.ConnectError as error:
            reason = f"{label} can't be sent: {_reason(error)}. {self._why_silent()}"
            raise CallError(place, reason) from None
        except httpx2.HTTPError as error:
            reason = f"{label} has no whole answer: {_reason(error)}. {self._why_silent()}"
            raise CallError(place, reason) from None
        except _TooLongError:
            raise CallError(place, f"the answer to {label} is longer than 1 MiB.") from None
        finally:
            self.pending = None

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


def why_no_answer(base_url: str) -> str | None:
    """Why the service does not answer at its base URL yet; None if it does, with any status."""
    try:
        with httpx2.stream("GET", base_url, timeout=_PROBE_SECONDS, **_PROBE_OPTIONS) as response:
            status = response.status_code
    except httpx2.HTTPError as error:
        return _reason(error)
    return f"it answers {status}" if status in _NOT_YET else None


class _TooLongError(Exception):
    pass


_PROBE_OPTIONS = {name: _OPTIONS[name] for name in ("trust_env", "follow_redirects", "headers")}


def _reason(error: httpx2.HTTPError) -> str:
    text = str(error).rstrip(".")
    return text.partition("] ")[2] if text.startswith("[Errno") else text or type(error).__name__

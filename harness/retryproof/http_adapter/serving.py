"""The adapter's end of the protocol: a line in, a line out, until `shutdown` or the end of input.

The bundled Python host has such a loop, too. This one is typed by the protocol's own messages,
can refuse `initialize`, and does not claim that the service is written in Python.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol, TypeAlias

import msgspec
from retryproof_protocol.messages import (
    DEFAULT_CALL_TIMEOUT_MS,
    PROTOCOL_VERSION,
    AdapterIdentity,
    Capabilities,
    ErrorObject,
    ErrorResponse,
    InitializeParams,
    InitializeResult,
    Observation,
    Operation,
    Request,
    ResultResponse,
)

from .answers import CallError
from .log import Log

ADAPTER_FAILED = -32000
PARSE_ERROR = -32700
_NOTICE_SECONDS = 0.05
"""How long before the kill it is noted that there is no answer yet."""

Response: TypeAlias = ResultResponse | ErrorResponse


class Adapter(Protocol):
    """What is served."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def capabilities(self) -> Capabilities: ...  # noqa: D102
    def reset(self) -> None: ...  # noqa: D102
    def step(self, operation: Operation) -> Observation: ...  # noqa: D102


def take_over_stdio() -> tuple[BinaryIO, BinaryIO]:
    """The protocol's own stdin and stdout. What anybody else prints goes to stderr from now on."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def serve(adapter: Adapter | CallError, log: Log, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers each request; an error in place of an adapter is the answer to all of them."""
    server = _Server(adapter, log)
    for line in requests:
        method, response = server.respond(line)
        answers.write(msgspec.json.encode(response) + b"\n")
        answers.flush()
        if method == "shutdown":
            return


class _Server:
    def __init__(self, adapter: Adapter | CallError, log: Log) -> None:
        self._adapter = adapter
        self._log = log
        self._call_seconds = DEFAULT_CALL_TIMEOUT_MS / 1000

    def respond(self, line: bytes) -> tuple[str | None, Response]:
        try:
            request = msgspec.json.decode(line, type=Request)
        except msgspec.DecodeError as error:
            return None, ErrorResponse(0, ErrorObject(PARSE_ERROR, f"no request: {error}"))
        try:
            return request.method, ResultResponse(request.id, self._call(request))
        except CallError as error:
            failure = ErrorObject(ADAPTER_FAILED, str(error))
            return request.method, ErrorResponse(request.id, failure)

    def _call(self, request: Request) -> Any:
        if request.method == "shutdown":
            return None
        if isinstance(self._adapter, CallError):
            raise self._adapter
        if request.method == "initialize":
            params = msgspec.convert(request.params, InitializeParams)
            self._call_seconds = params.call_timeout_ms / 1000
            identity = AdapterIdentity(self._adapter.name)
            return InitializeResult(PROTOCOL_VERSION, identity, self._adapter.capabilities)
        with _notice_of_delay(self._log, self._call_seconds - _NOTICE_SECONDS):
            if request.method == "reset":
                return self._adapter.reset()
            return self._adapter.step(msgspec.convert(request.params, Operation))


@contextmanager
def _notice_of_delay(log: Log, after_seconds: float) -> Iterator[None]:
    """Has the log say what the call waits for, just before the runner kills this process."""
    timer = threading.Timer(max(0.0, after_seconds), log.note_delay, (after_seconds,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

"""What the daemon can be asked, as typed calls."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from ..api.submission import SuiteName
from ..api.views import (
    DaemonStatus,
    ProblemBody,
    ProblemDetail,
    RunPage,
    RunState,
    RunView,
    RunWithReport,
)
from ..errors import DaemonAnswerError, DaemonRefusalError, InvalidArgumentsError
from ..reports.report import Verdict

if TYPE_CHECKING:
    from .exchange import Answer, Message

ANSWER_SECONDS = 30.0
"""Far more than an answer takes, even while a daemon with a full disk tries to write."""
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_NOT_READY = 503
_NOT_FOUND = "not-found"

_Value = TypeVar("_Value")


class RunQuery(Struct, frozen=True):
    """Which runs a list is to have; what is left out lets all through."""

    state: Sequence[RunState] = ()
    verdict: Verdict | None = None
    suite: SuiteName | None = None
    client: str | None = None
    key: str | None = None
    limit: int | None = None
    cursor: str | None = None

    def parameters(self) -> list[tuple[str, str]]:
        """As they stand in a URL.

        Raises:
            InvalidArgumentsError: one is no text, but bytes from the command line.
        """
        single = (
            ("verdict", self.verdict),
            ("suite", self.suite),
            ("client", self.client),
            ("key", self.key),
            ("limit", None if self.limit is None else str(self.limit)),
            ("cursor", self.cursor),
        )
        given = [(name, value) for name, value in single if value is not None]
        for name, value in given:
            if not _is_text(value):
                raise InvalidArgumentsError(f"--{name} is no UTF-8 text.")
        return [("state", state) for state in self.state] + given


class Daemon:
    """The daemon behind a Unix socket.

    Every method raises, with what happened and what to do:
        DaemonUnavailableError: nobody took the request.
        LostConnectionError: it was taken, or may have been, and the whole answer is missing.
        DaemonRefusalError: the daemon answered that it will not, or can't.
        DaemonAnswerError: its answer is not in form.
    """

    def __init__(self, socket: Path, answer_seconds: float = ANSWER_SECONDS) -> None:
        # httpx2 takes a while to import, and most commands have no use for it.
        from .exchange import Exchange

        self.socket = socket
        self._exchange = Exchange(socket, answer_seconds)

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exchange.close()

    def submit(self, body: bytes, key: str) -> RunView:
        """Submits a run under its Idempotency-Key: the new one, or the first one of that key."""
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        answer = self._exchange.ask("POST", "/v1/runs", content=body, headers=headers)
        return self._read(answer, RunView)

    def page(self, query: RunQuery) -> RunPage:
        """The runs that are meant, the newest first."""
        answer = self._exchange.ask("GET", "/v1/runs", query=query.parameters())
        return self._read(answer, RunPage)

    def run(self, run: str) -> RunWithReport:
        """A run, with its report if it has one."""
        with _naming(run):
            return self._read(self._exchange.ask("GET", _path_of(run)), RunWithReport)

    def cancel(self, run: str) -> RunView:
        """Has a run ended: a queued one has been by now, a running one will be."""
        with _naming(run):
            return self._read(self._exchange.ask("POST", f"{_path_of(run)}/cancel"), RunView)

    def status(self) -> DaemonStatus:
        """How the daemon is."""
        answer = self._exchange.ask("GET", "/readyz")
        if answer.status == _NOT_READY:
            return self._decode(answer, DaemonStatus)
        return self._read(answer, DaemonStatus)

    @contextmanager
    def stream(
        self, run: str, after: str | None = None, *, follows: bool = True
    ) -> Iterator[Iterator["Message"]]:
        """The messages of a run, from the one after the given number on, as they come.

        They end with the run, or when the daemon stops; or, if they do not follow the run, with
        what has happened so far.
        """
        headers = {} if after is None else {"Last-Event-ID": after}
        query = () if follows else (("follow", "false"),)
        with (
            _naming(run),
            self._exchange.stream(f"{_path_of(run)}/events", headers, query) as messages,
        ):
            if not isinstance(messages, Iterator):
                raise _refusal(messages)
            yield messages

    def _read(self, answer: "Answer", wanted: type[_Value]) -> _Value:
        if answer.is_refusal:
            raise _refusal(answer)
        return self._decode(answer, wanted)

    def _decode(self, answer: "Answer", wanted: type[_Value]) -> _Value:
        try:
            return msgspec.json.decode(answer.content, type=wanted)
        except msgspec.DecodeError as error:
            raise DaemonAnswerError(
                f"What answers at {self.socket} is not in form: {error}.",
                "Is it a daemon of another version? `retryproof status` tells.",
            ) from None


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _path_of(run: str) -> str:
    """The run's address; what can't be an id would be another one."""
    if _ID.fullmatch(run) is None:
        raise DaemonRefusalError("", "", status=404, code=_NOT_FOUND)
    return f"/v1/runs/{run}"


@contextmanager
def _naming(run: str) -> Iterator[None]:
    """Names the run in the refusal, if there is no such run."""
    try:
        yield
    except DaemonRefusalError as refusal:
        if refusal.code != _NOT_FOUND:
            raise
        raise DaemonRefusalError(
            f"There is no run {run}.",
            "`retryproof runs` lists those that there are.",
            status=refusal.status,
            code=refusal.code,
        ) from None


def _refusal(answer: "Answer") -> DaemonRefusalError:
    try:
        problem = msgspec.json.decode(answer.content, type=ProblemBody).error
    except msgspec.DecodeError:
        problem = ProblemDetail("", f"The daemon answered {answer.status} without a word.")
    place = f"{problem.path}: " if problem.path else ""
    after = answer.retry_after
    return DaemonRefusalError(
        f"{place}{problem.message}",
        "",
        status=answer.status,
        code=problem.code,
        retry_after_seconds=float(after) if after is not None and after.isdecimal() else None,
    )

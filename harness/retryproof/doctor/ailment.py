"""What ails an adapter whose conversation broke off: the one check that fails, and the words."""

import shlex
import time

from msgspec.structs import replace
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import Method
from retryproof_protocol.quoting import escape_controls, quote_start

from ..errors import AdapterError
from ..supervise import failures
from ..supervise.channel import Wake
from ..supervise.launch import Launch
from ..supervise.session import Outcome, Session
from .attribution import check_of_a_crash, check_of_a_line, check_of_an_answer
from .findings import Trouble
from .incoming import Incoming

_LAST_WORDS_SECONDS = 0.5
"""A program that prints why it dies is dead well within this time."""


def of_a_start(error: AdapterError, launch: Launch, elapsed_seconds: float) -> Trouble:
    """It could not be started, or was gone before it had answered anything."""
    return Trouble(
        "starts",
        f"{error.message} The command was {escape_controls(shlex.join(launch.shown_argv))}, in "
        f"{escape_controls(launch.command.cwd)}; this came after {elapsed_seconds:.2f} s.",
        error.advice,
    )


class Ailments:
    """Judges the outcomes of one session. Each judgement kills the adapter."""

    def __init__(self, session: Session, incoming: Incoming, launch: Launch) -> None:
        self._session = session
        self._incoming = incoming
        self._launch = launch
        self._started = time.monotonic()

    def of_a_call(self, method: Method, outcome: Outcome, limit_seconds: float) -> Trouble:
        """A call had something else than an answer. Raises CancelledError as a session does."""
        if isinstance(outcome, RemoteProtocolError):
            return self.of_a_line(method, outcome)
        if outcome is Wake.DEADLINE:
            return self._of_silence(method, limit_seconds)
        error = self._session.failure(method, outcome, limit_seconds)
        return self._of_a_crash(method, error) if error.kind == "crash" else _bad(method, error)

    def of_an_early_end(self, last_method: Method, outcome: Outcome) -> Trouble:
        """It ended, or closed its stdout, though it had not been told to leave."""
        return _bad(last_method, self._session.failure(None, outcome, 0))

    def of_a_line(self, method: Method, problem: RemoteProtocolError) -> Trouble:
        """A line was refused. Raises CancelledError as a session does."""
        check = check_of_a_line(method, problem, self._incoming.next_line, self._incoming.taken)
        until = time.monotonic() + _LAST_WORDS_SECONDS
        is_needed = method != "shutdown"
        if check == "stdout" and is_needed and self._session.wait_gone(until):
            # What it printed is why it died, and the death is the trouble.
            return self._of_last_words(method)
        error = self._session.failure(method, problem, 0)
        if check == "starts":
            return self._of_a_crash(method, error)
        return Trouble(check, error.message, error.advice)

    def _of_last_words(self, method: Method) -> Trouble:
        printed = quote_start(self._incoming.next_line)
        trouble = self._of_a_crash(method, failures.crashed(method, self._session.remains()))
        return replace(
            trouble,
            seen=f"{trouble.seen} Before it ended, it printed {printed} to stdout.",
            mend="What it printed may say why it ended. Such messages belong on stderr.",
        )

    def _of_silence(self, method: Method, limit_seconds: float) -> Trouble:
        if self._session.answers_at_last():
            self._session.kill()
            return Trouble(
                "flush",
                f"The answer to `{method}` came only when its input was closed, after "
                f"{limit_seconds:.3g} s of silence.",
                "Its answers wait in a buffer: flush stdout after each line. If it reads all of "
                "its input before it answers: read line by line.",
            )
        return _bad(method, failures.not_in_time(method, limit_seconds, self._session.remains()))

    def _of_a_crash(self, method: Method, error: AdapterError) -> Trouble:
        if check_of_a_crash(method) != "starts":
            return _bad(method, error)
        return of_a_start(error, self._launch, time.monotonic() - self._started)


def _bad(method: Method, error: AdapterError) -> Trouble:
    return Trouble(check_of_an_answer(method), error.message, error.advice)

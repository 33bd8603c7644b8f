"""Submits a run once, whatever becomes of the daemon meanwhile: does what `submitting` decides."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from ..api.reading import MalformedBodyError, read_body
from ..api.submission import RunSubmission
from ..api.views import RunView
from ..errors import (
    DaemonRefusalError,
    InvalidArgumentsError,
    NotSubmittedError,
    RetryproofError,
    SubmissionInDoubtError,
)
from ..fuse.fingerprint import fingerprint_of
from .connection import Daemon, RunQuery
from .patience import Patience
from .submission_files import SubmissionFiles
from .submitting import (
    GiveUp,
    LookUp,
    Send,
    SubmissionRecord,
    Take,
    begun,
    failed,
    is_final,
    known_absent,
    next_action,
)

Tell: TypeAlias = Callable[[str], None]
"""Hears what is waited for, in whole sentences."""

_BAD_REQUESTS = frozenset({400, 413, 415})
_WORTH_TELLING_SECONDS = 1.0


class Submission:
    """A run that is to be submitted, under a new key.

    Attributes:
        body: what is sent.
        record: what is known of it.
    """

    def __init__(self, wanted: RunSubmission, socket: Path) -> None:
        """Checks it as the daemon will.

        Raises:
            InvalidArgumentsError: the daemon would refuse it.
        """
        self.body = _encode(wanted)
        self.record = SubmissionRecord(
            key=uuid.uuid4().hex,
            digest=fingerprint_of(msgspec.json.decode(self.body)),
            created_at=_now(),
            socket=str(socket),
        )


class Sender:
    """Sends submissions to one daemon, and keeps what is known of each in its file."""

    def __init__(
        self,
        daemon: Daemon,
        files: SubmissionFiles,
        tell: Tell,
        patience: Patience | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`patience` is for a daemon that does not say whether it has a run."""
        self._daemon = daemon
        self._files = files
        self._tell = tell
        self._patience = patience or Patience()
        self._pause = pause

    def send(self, submission: Submission) -> RunView:
        """The run that the daemon has made of it: one, however often it had to be sent.

        Raises:
            InvalidArgumentsError: the daemon refuses what is submitted.
            DaemonRefusalError: the daemon refuses it for another reason.
            NotSubmittedError: there is no daemon, or it takes nothing now.
            SubmissionInDoubtError: it could not be found out whether the run was submitted.
            FileError: what is known can't be kept.
        """
        record = submission.record
        found: RunView | None = None
        while True:
            match next_action(record, found):
                case Send(pause_seconds=seconds):
                    self._wait(record, seconds)
                    record, found = self._attempt(record, submission.body)
                case LookUp():
                    record, found = self._look_up(record)
                case Take(run=run):
                    self._files.remove(record.key)
                    return run
                case GiveUp() as action:
                    self._files.remove(record.key)
                    raise _not_submitted(record, action)

    def _wait(self, record: SubmissionRecord, seconds: float) -> None:
        if seconds >= _WORTH_TELLING_SECONDS:
            self._tell(f"{record.attempts[-1].problem} Trying again in {seconds:g} s.")
        if seconds:
            self._pause(seconds)

    def _attempt(
        self, record: SubmissionRecord, body: bytes
    ) -> tuple[SubmissionRecord, RunView | None]:
        record = begun(record, _now())
        self._files.write(record)
        try:
            return record, self._daemon.submit(body, record.key)
        except RetryproofError as problem:
            if is_final(problem):
                self._files.remove(record.key)
                raise _as_argument_error(problem) from None
            record = failed(record, problem)
        self._files.write(record)
        return record, None

    def _look_up(self, record: SubmissionRecord) -> tuple[SubmissionRecord, RunView | None]:
        """Asks until the daemon says whether it has the run."""
        self._tell(f"{record.attempts[-1].problem} Looking whether the run was submitted.")
        try:
            page = self._patience.insist(lambda: self._daemon.page(RunQuery(key=record.key)))
        except RetryproofError as problem:
            raise SubmissionInDoubtError(
                f"Whether the run was submitted is not known. {problem.message}",
                f"When the daemon is back, `retryproof runs --key {record.key}` tells. What is "
                f"known is in {self._files.path_of(record.key)}.",
            ) from None
        if page.runs:
            return record, page.runs[0]
        record = known_absent(record)
        self._files.write(record)
        return record, None


def _encode(wanted: RunSubmission) -> bytes:
    try:
        body = msgspec.json.encode(wanted)
        read_body(body, RunSubmission)
    except UnicodeEncodeError:
        # It is not shown: it may be the value of a variable.
        raise InvalidArgumentsError(
            "The run can't be submitted: one of its names, arguments or variables is no UTF-8.",
            "`retryproof run` drives it as it is.",
        ) from None
    except MalformedBodyError as error:
        raise InvalidArgumentsError(f"The run can't be submitted: {error}") from None
    return body


def _as_argument_error(problem: RetryproofError) -> RetryproofError:
    """What the daemon found wrong with the submission is wrong with the command."""
    if isinstance(problem, DaemonRefusalError) and problem.status in _BAD_REQUESTS:
        return InvalidArgumentsError(f"The daemon refuses the run: {problem.message}")
    return problem


def _not_submitted(record: SubmissionRecord, action: GiveUp) -> NotSubmittedError:
    last = record.attempts[-1]
    return NotSubmittedError(
        f"{last.problem} Nothing was submitted in {len(record.attempts)} attempts: "
        f"{action.report.reasons[0].message}",
        last.advice,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

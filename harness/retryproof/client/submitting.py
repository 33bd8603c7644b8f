"""What to do about a submission next, from what is recorded of its attempts. Pure.

The decision whether to send again is the fuse's own. A key is made for one submission and never
used for another, so whatever the daemon holds under it is that submission's run.
"""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..api.views import RunView
from ..errors import (
    DaemonRefusalError,
    DaemonUnavailableError,
    LostConnectionError,
    RetryproofError,
)
from ..fuse import (
    Attempt,
    Operation,
    Outcome,
    Phase,
    Policy,
    PriorRecord,
    Report,
    Request,
    evaluate,
)
from .backoff import backoff_seconds

MAX_ATTEMPTS = 6
"""In a row without an answer. With the pauses between them a daemon has time to restart."""
LONGEST_PAUSE_SECONDS = 60.0
"""However long the daemon says to wait."""
_POLICY = Policy(failure_threshold=MAX_ATTEMPTS)
_ENDPOINT = "POST /v1/runs"
_TOO_MANY, _SERVER_ERROR, _UNAVAILABLE = 429, 500, 503


class RecordedAttempt(Struct, frozen=True, rename="camel"):
    """An attempt to submit. Until its end is recorded, nothing is known of it.

    Attributes:
        at: when it was begun, ISO 8601, UTC.
        outcome: how it ended, in the fuse's terms.
        phase: where it was then, in the fuse's terms.
        problem: what went wrong, in a sentence.
        advice: what to do about it; may be empty.
        retry_after_seconds: how long the daemon asked to wait.
    """

    at: str
    outcome: Outcome = "unknown"
    phase: Phase = "unknown"
    problem: str = ""
    advice: str = ""
    retry_after_seconds: float | None = None


class SubmissionRecord(Struct, frozen=True, rename="camel"):
    """What is kept of a submission until its answer is in.

    Attributes:
        key: its Idempotency-Key.
        digest: the fingerprint of what is submitted.
        created_at: ISO 8601, UTC.
        socket: where the daemon is that it is for.
        attempts: in the order in which they were made.
    """

    key: str
    digest: str
    created_at: str
    socket: str
    attempts: tuple[RecordedAttempt, ...] = ()


class Unfinished(Struct, frozen=True):
    """A submission whose answer is not in, and the file that says so."""

    file: str
    record: SubmissionRecord


class Send(Struct, frozen=True):
    """Send it, with the same key and body, after a pause."""

    pause_seconds: float


class LookUp(Struct, frozen=True):
    """Look whether the daemon has it."""


class Take(Struct, frozen=True):
    """It was taken: this is its run."""

    run: RunView


class GiveUp(Struct, frozen=True):
    """Do not send it any more, for the fuse's reasons. Nothing of it was taken."""

    report: Report


Action: TypeAlias = Send | LookUp | Take | GiveUp


def next_action(record: SubmissionRecord, found: RunView | None = None) -> Action:
    """What to do now; `found` is the run that the daemon holds under the key, as far as known."""
    prior = None
    if found is not None:
        prior = PriorRecord("completed", request_hash=record.digest, write_committed=True)
    report = evaluate(
        Request(
            Operation(_ENDPOINT, idempotency_key=record.key, request_hash=record.digest),
            attempts=tuple(Attempt(sent.outcome, sent.phase) for sent in record.attempts),
            prior_record=prior,
            policy=_POLICY,
        )
    )
    match report.decision:
        case "replay_safe":
            return Send(_pause_seconds(record.attempts))
        case "replay_stored" if found is not None:
            return Take(found)
        case "reconcile_required":
            return LookUp()
    return GiveUp(report)


def begun(record: SubmissionRecord, at: str) -> SubmissionRecord:
    """With one more attempt, of which nothing is known yet."""
    return replace(record, attempts=(*record.attempts, RecordedAttempt(at)))


def failed(record: SubmissionRecord, problem: RetryproofError) -> SubmissionRecord:
    """With the end of the last attempt."""
    *earlier, last = record.attempts
    outcome, phase = _judge(problem)
    asked = problem.retry_after_seconds if isinstance(problem, DaemonRefusalError) else None
    ended = RecordedAttempt(
        at=last.at,
        outcome=outcome,
        phase=phase,
        problem=problem.message,
        advice=problem.advice,
        retry_after_seconds=asked,
    )
    return replace(record, attempts=(*earlier, ended))


def known_absent(record: SubmissionRecord) -> SubmissionRecord:
    """After a look that found no run under the key: no attempt so far has made one.

    One that is still on its way can't make a second: the daemon honours the key.
    """
    attempts = tuple(
        sent if sent.phase == "pre_write" else replace(sent, outcome="failure", phase="pre_write")
        for sent in record.attempts
    )
    return replace(record, attempts=attempts)


def is_final(problem: RetryproofError) -> bool:
    """Whether the daemon has refused the submission itself, so that no repetition can help."""
    return (
        isinstance(problem, DaemonRefusalError)
        and problem.status < _SERVER_ERROR
        and problem.status != _TOO_MANY
    )


def _judge(problem: RetryproofError) -> tuple[Outcome, Phase]:
    match problem:
        case DaemonUnavailableError():
            return "failure", "pre_write"
        case DaemonRefusalError() if problem.status in {_TOO_MANY, _UNAVAILABLE}:
            return "failure", "pre_write"
        case LostConnectionError(timed_out=True):
            return "timeout", "unknown"
    return "failure", "unknown"


def _pause_seconds(attempts: tuple[RecordedAttempt, ...]) -> float:
    """Nothing before the first attempt."""
    if not attempts:
        return 0.0
    asked = attempts[-1].retry_after_seconds or 0.0
    return min(max(asked, backoff_seconds(len(attempts))), LONGEST_PAUSE_SECONDS)

"""What is done next about a submission, whatever became of its attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.client.submitting import (
    LONGEST_PAUSE_SECONDS,
    MAX_ATTEMPTS,
    GiveUp,
    LookUp,
    RecordedAttempt,
    Send,
    SubmissionRecord,
    Take,
    begun,
    failed,
    is_final,
    known_absent,
    next_action,
)
from retryproof.errors import (
    DaemonAnswerError,
    DaemonRefusalError,
    DaemonUnavailableError,
    LostConnectionError,
    RetryproofError,
)

from tests.client.views import view

NEW = SubmissionRecord("7d0c", "ab" * 32, "2030-01-02T03:04:05.678+00:00", "/run/s")
AT = "2030-01-02T03:04:06.000+00:00"


def refused(status: int, retry_after_seconds: float | None = None) -> DaemonRefusalError:
    return DaemonRefusalError(
        "No.", "", status=status, code="no", retry_after_seconds=retry_after_seconds
    )


NO_DAEMON = DaemonUnavailableError("No daemon answers.", "Start one.")
LOST = LostConnectionError("It broke off.")
TIMED_OUT = LostConnectionError("No answer in time.", timed_out=True)
GARBAGE = DaemonAnswerError("It is not in form.")
FULL, STOPPING, BUG = refused(429), refused(503), refused(500)
CERTAINLY_NOT_TAKEN = (NO_DAEMON, FULL, STOPPING)
PERHAPS_TAKEN = (LOST, TIMED_OUT, GARBAGE, BUG)


def after(*problems: RetryproofError) -> SubmissionRecord:
    record = NEW
    for problem in problems:
        record = failed(begun(record, AT), problem)
    return record


@pytest.mark.parametrize(
    ("record", "action"),
    [
        (NEW, Send(0.0)),
        (begun(NEW, AT), LookUp()),
        (after(NO_DAEMON), Send(0.1)),
        (after(NO_DAEMON, NO_DAEMON), Send(0.2)),
        (after(FULL), Send(0.1)),
        (after(refused(429, 2)), Send(2.0)),
        (after(STOPPING, refused(503, 0)), Send(0.2)),
        (after(refused(429, 86_400)), Send(LONGEST_PAUSE_SECONDS)),
        (after(LOST), LookUp()),
        (after(TIMED_OUT), LookUp()),
        (after(GARBAGE), LookUp()),
        (after(BUG), LookUp()),
        (after(LOST, NO_DAEMON), LookUp()),
        (after(*[NO_DAEMON] * (MAX_ATTEMPTS - 1), LOST), LookUp()),
        (known_absent(after(LOST)), Send(0.1)),
        (known_absent(begun(NEW, AT)), Send(0.1)),
        (after(*[NO_DAEMON] * (MAX_ATTEMPTS - 1)), Send(1.6)),
    ],
)
def test_what_is_done_next(record: SubmissionRecord, action: object) -> None:
    assert next_action(record) == action


@pytest.mark.parametrize("problem", [*CERTAINLY_NOT_TAKEN, *PERHAPS_TAKEN])
def test_a_run_that_was_found_is_taken_whatever_happened(problem: RetryproofError) -> None:
    run = view()
    assert next_action(after(problem), run) == Take(run)
    assert next_action(begun(NEW, AT), run) == Take(run)


def test_after_enough_attempts_it_is_given_up_for_the_fuses_reasons() -> None:
    action = next_action(after(*[NO_DAEMON] * MAX_ATTEMPTS))
    assert isinstance(action, GiveUp)
    assert [reason.code for reason in action.report.reasons] == ["failure_streak"]


@given(st.lists(st.sampled_from((*CERTAINLY_NOT_TAKEN, *PERHAPS_TAKEN)), max_size=8))
def test_it_is_never_sent_again_while_it_may_have_been_taken(
    problems: list[RetryproofError],
) -> None:
    is_in_doubt = any(problem in PERHAPS_TAKEN for problem in problems)
    action = next_action(after(*problems))
    assert isinstance(action, LookUp) == is_in_doubt
    assert not isinstance(next_action(known_absent(after(*problems))), LookUp | Take)


@pytest.mark.parametrize(
    ("problem", "outcome", "phase"),
    [
        (NO_DAEMON, "failure", "pre_write"),
        (FULL, "failure", "pre_write"),
        (STOPPING, "failure", "pre_write"),
        (TIMED_OUT, "timeout", "unknown"),
        (LOST, "failure", "unknown"),
        (GARBAGE, "failure", "unknown"),
        (BUG, "failure", "unknown"),
    ],
)
def test_the_end_of_an_attempt_in_the_fuses_terms(
    problem: RetryproofError, outcome: str, phase: str
) -> None:
    (attempt,) = after(problem).attempts
    assert (attempt.at, attempt.outcome, attempt.phase) == (AT, outcome, phase)
    assert (attempt.problem, attempt.advice) == (problem.message, problem.advice)


def test_until_its_end_is_recorded_nothing_is_known_of_an_attempt() -> None:
    assert begun(after(NO_DAEMON), AT).attempts[1:] == (RecordedAttempt(AT, "unknown", "unknown"),)


@pytest.mark.parametrize(
    ("problem", "final"),
    [
        (refused(400), True),
        (refused(409), True),
        (refused(413), True),
        (refused(429), False),
        (refused(500), False),
        (refused(503), False),
        (NO_DAEMON, False),
        (LOST, False),
    ],
)
def test_which_refusals_are_of_the_submission_itself(problem: RetryproofError, final: bool) -> None:
    assert is_final(problem) == final

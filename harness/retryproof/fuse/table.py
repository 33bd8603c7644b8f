"""The decision table as data: seven rows, the first that applies decides; else the eighth.

Source: the table "Decision" of the retryfuse contract, version 1. A row has a ground for each
way in which it comes to apply, and each ground its words.
"""

from collections.abc import Callable

from msgspec import Struct

from .attempts import Outcome, Phase
from .facts import Facts
from .report import Decision


class Ground(Struct, frozen=True):
    """One way in which a row applies: what was found, and what to do if it decides."""

    applies: Callable[[Facts], bool]
    message: str
    advice: str


class Row(Struct, frozen=True):
    """A row of the table. It applies if any of its grounds does."""

    code: str
    decision: Decision
    grounds: tuple[Ground, ...]

    def applying(self, facts: Facts) -> tuple[Ground, ...]:
        """The grounds on which the row applies; none if it does not."""
        return tuple(ground for ground in self.grounds if ground.applies(facts))


_LOOK_UP_THE_EFFECT = (
    "Do not send it: look up whether its effect is there, then ask again with a record that "
    "confirms the effect, or with pre_write as the phase of each attempt that proves to have "
    "had none."
)
_LOOK_UP_THE_COMMIT = (
    "Do not send it: look up whether the effect of the completed request is there, correct the "
    "record, and ask again."
)
_COMPARE = (
    "Do not send it: find out whether the record is of this very request, and ask again with "
    "the requestHash of both."
)


def _attempted(outcome: Outcome, phase: Phase) -> Callable[[Facts], bool]:
    return lambda facts: (outcome, phase) in facts.kinds


TABLE: tuple[Row, ...] = (
    Row(
        "fingerprint_conflict",
        "reject_conflict",
        (
            Ground(
                lambda facts: facts.recorded and facts.comparison == "different",
                "The record is of another request: its requestHash is not the operation's "
                "fingerprint.",
                "Do not send it: give this request an idempotency key of its own, or find the "
                "caller that used this key for two different requests.",
            ),
        ),
    ),
    Row(
        "confirmed_record",
        "replay_stored",
        (
            Ground(
                lambda facts: facts.confirmed,
                "This very request has completed, and its record confirms the write.",
                "Do not execute it again: return the stored response of the completed request "
                "as it is.",
            ),
        ),
    ),
    Row(
        "request_in_flight",
        "brake",
        (
            Ground(
                lambda facts: facts.record == "in_flight",
                "A request is in flight under this key.",
                "Do not send it: wait until the request in flight has ended, then ask again "
                "with its record.",
            ),
        ),
    ),
    Row(
        "uncertain_record",
        "reconcile_required",
        (
            Ground(
                lambda facts: facts.record == "uncertain",
                "The record has no status: its request may be in flight, or completed.",
                "Do not send it: look up whether the recorded request is in flight or completed "
                "and whether its write is committed, and ask again with the whole record.",
            ),
            Ground(
                lambda facts: facts.record == "completed" and facts.committed is False,
                "The record is of a completed request whose write is not committed.",
                _LOOK_UP_THE_COMMIT,
            ),
            Ground(
                lambda facts: facts.record == "completed" and facts.committed == "unknown",
                "The record is of a completed request whose write nobody has confirmed.",
                _LOOK_UP_THE_COMMIT,
            ),
            Ground(
                lambda facts: facts.recorded and facts.comparison == "no-record-hash",
                "The record cannot be compared with this request: it has no requestHash.",
                _COMPARE,
            ),
            Ground(
                lambda facts: facts.recorded and facts.comparison == "no-fingerprint",
                "The record cannot be compared with this request: the operation has neither a "
                "requestHash nor a body.",
                _COMPARE,
            ),
            Ground(
                lambda facts: facts.recorded and facts.comparison == "neither",
                "The record cannot be compared with this request: neither of them has a "
                "requestHash, and the operation has no body.",
                _COMPARE,
            ),
        ),
    ),
    Row(
        "uncertain_write",
        "reconcile_required",
        (
            Ground(
                lambda facts: any(outcome == "unknown" for outcome, _ in facts.kinds),
                "The outcome of an attempt is not known.",
                _LOOK_UP_THE_EFFECT,
            ),
            Ground(
                _attempted("timeout", "post_write"),
                "An attempt timed out after its write had begun.",
                _LOOK_UP_THE_EFFECT,
            ),
            Ground(
                _attempted("timeout", "unknown"),
                "An attempt timed out, perhaps after its write had begun.",
                _LOOK_UP_THE_EFFECT,
            ),
            Ground(
                _attempted("failure", "post_write"),
                "An attempt failed after its write had begun.",
                _LOOK_UP_THE_EFFECT,
            ),
            Ground(
                _attempted("failure", "unknown"),
                "An attempt failed, perhaps after its write had begun.",
                _LOOK_UP_THE_EFFECT,
            ),
            Ground(
                lambda facts: (
                    any(outcome == "success" for outcome, _ in facts.kinds) and not facts.confirmed
                ),
                "An attempt succeeded, and no record confirms its effect.",
                "Do not send it: look up the effect of the attempt that succeeded, and ask again "
                "with a record that confirms it.",
            ),
        ),
    ),
    Row(
        "failure_streak",
        "brake",
        (
            Ground(
                lambda facts: bool(facts.kinds) and facts.streak_reached,
                "The circuit is open: the attempts in a row without success have reached the "
                "failure threshold.",
                "Do not send it for now: stop the automatic retries, find out why the attempts "
                "fail, and let a person decide on the next one.",
            ),
        ),
    ),
    Row(
        "budget_spent",
        "brake",
        (
            Ground(
                lambda facts: bool(facts.kinds) and facts.budget_reached,
                "The circuit is open: the attempts have spent the budget.",
                "Do not send it for now: stop the automatic retries, find out what they were "
                "spent on, and let a person decide on a further budget.",
            ),
        ),
    ),
)
"""Rows 1 to 7."""

OTHERWISE = Row(
    "no_effect",
    "replay_safe",
    (
        Ground(
            lambda facts: not facts.kinds,
            "There was no attempt, and there is no record of one.",
            "Send it: nothing of it has been executed.",
        ),
        Ground(
            lambda facts: bool(facts.kinds),
            "Each attempt ended before its write, there is no record, and the circuit is closed.",
            "Send it again, with the same idempotency key and the same body.",
        ),
    ),
)
"""Row 8, which applies if no other does."""

"""What is answered: a report, or why there is none; and what it means to a shell.

Source: the sections "Report" and "Command line" of the retryfuse contract, version 1.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from retryproof_protocol import messages

from .numerals import Number
from .request import CONTRACT_VERSION

Decision: TypeAlias = messages.Decision
Status: TypeAlias = messages.DecisionStatus
AnyStatus: TypeAlias = Literal["pass", "fail", "unknown", "unverified"]

STATUS_OF: Mapping[Decision, Status] = MappingProxyType(
    {
        "replay_safe": "pass",
        "replay_stored": "pass",
        "brake": "fail",
        "reject_conflict": "fail",
        "reconcile_required": "unknown",
    }
)

EXIT_STATUS_OF: Mapping[AnyStatus, int] = MappingProxyType(
    {"pass": 0, "unverified": 1, "fail": 2, "unknown": 3}
)
"""A process's exit status. 2 never means anything but a detected unsafe condition."""

_BEST_TO_WORST: tuple[AnyStatus, ...] = ("pass", "unknown", "fail", "unverified")


class _Part(Struct, frozen=True, rename="camel", gc=False):
    """A part of the answer: immutable, its members in camelCase and in the contract's order."""


class Reason(_Part, frozen=True):
    """A row of the decision table that applies: its name, and in sentences what it found."""

    code: str
    message: str


class Circuit(_Part, frozen=True):
    """Where the attempts stand against the policy.

    Attributes:
        failure_streak: attempts since the last success, or in all if there was none.
        failure_threshold: the streak at which the circuit opens.
        spent_units: the exact sum of all attempts' costs. One beyond every double is shown as
            the largest double.
        budget_units: the sum at which the circuit opens.
        open: whether either limit is reached, by one attempt or more.
    """

    failure_streak: int
    failure_threshold: int
    spent_units: Number
    budget_units: Number
    open: bool


class Report(_Part, frozen=True, kw_only=True):
    """The decision, and everything that it was based on.

    Attributes:
        reasons: the row that decided, then every other row that applies as well.
        fingerprint: the operation's, 64 hex digits in lower case, if it is known.
        advice: what to do now, in one sentence.
    """

    contract: Literal["retryfuse"] = "retryfuse"
    contract_version: Literal[1] = CONTRACT_VERSION
    decision: Decision
    status: Status
    reasons: tuple[Reason, ...]
    fingerprint: str | None
    circuit: Circuit
    advice: str


class Problem(_Part, frozen=True):
    """What is wrong with the input at a place; path "" is the whole of it.

    The message is a sentence whose subject is that place: "must be an object, is null."
    """

    path: str
    message: str


class Unverified(_Part, frozen=True, kw_only=True):
    """Malformed input: there is nothing to decide on."""

    contract: Literal["retryfuse"] = "retryfuse"
    status: Literal["unverified"] = "unverified"
    decision: None = None
    errors: tuple[Problem, ...]


Answer: TypeAlias = Report | Unverified

encode: Callable[[Answer], bytes] = msgspec.json.Encoder(decimal_format="number").encode
"""The answer as one line of JSON, without the line's end; numbers with all their digits."""


def exit_status_of(answer: Answer) -> int:
    """0 pass, 1 unverified, 2 fail, 3 unknown."""
    return EXIT_STATUS_OF[answer.status]


def worst_status(statuses: Iterable[AnyStatus]) -> AnyStatus:
    """The status that stands for them all: unverified, then fail, then unknown, then pass.

    Of no statuses at all, it is unverified: nothing was looked at.
    """
    return max(statuses, key=_BEST_TO_WORST.index, default="unverified")

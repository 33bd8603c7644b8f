"""The report of `doctor`: can this adapter be driven? Schema retryproof.doctor/1."""

from typing import Literal, TypeAlias

from msgspec import Struct
from retryproof_protocol.messages import AdapterIdentity

CheckId: TypeAlias = Literal[
    "starts",
    "initialize",
    "stdout",
    "flush",
    "ids",
    "reset",
    "step",
    "clean-start",
    "leaves",
    "processes",
    "time",
]
CheckVerdict: TypeAlias = Literal["pass", "fail", "not-checked"]

DoctorVerdict: TypeAlias = Literal["pass", "fail", "incomplete"]
"""`incomplete`: no check failed, but not every one could be made."""

TITLES: dict[CheckId, str] = {
    "starts": "it starts",
    "initialize": "it answers `initialize`",
    "stdout": "it prints nothing else to stdout",
    "flush": "it flushes each answer",
    "ids": "it echoes the ids as numbers",
    "reset": "it answers `reset`",
    "step": "it answers `step` in form",
    "clean-start": "it starts clean after `reset`",
    "leaves": "it leaves after `shutdown`, and when its input ends",
    "processes": "it leaves no process behind",
    "time": "it keeps inside the time limits",
}
"""Every check, in the order in which they are reported: what holds if it passes."""


class CheckReport(Struct, frozen=True):
    """One check's outcome.

    Attributes:
        seen: what was observed, as whole sentences.
        mend: what to do about it; also where a check passed narrowly.
        because: the failed check that this one needs, if it could not be made.
    """

    id: CheckId
    title: str
    verdict: CheckVerdict
    seen: str
    mend: str | None = None
    because: CheckId | None = None


class CheckCounts(Struct, frozen=True, rename="camel"):
    """`planned` is always the sum of the others."""

    planned: int
    passed: int
    failed: int
    not_checked: int


class ExaminedAdapter(Struct, frozen=True, rename="camel"):
    """Which adapter was examined, and how it was started."""

    command: tuple[str, ...]
    host: str | None
    cwd: str
    added_environment: tuple[str, ...]
    identity: AdapterIdentity | None


class TimeLimits(Struct, frozen=True, rename="camel"):
    """The limits that a run would have, in seconds."""

    startup_seconds: float
    call_seconds: float
    leave_seconds: float


class Timing(Struct, frozen=True, rename="camel"):
    """How long the adapter took. Null where nothing was measured."""

    startup_ms: float | None
    slowest_call_ms: float | None


class DoctorReport(Struct, frozen=True, rename="camel"):
    """Everything that an examination found out."""

    schema: Literal["retryproof.doctor/1"]
    evidence: Literal["protocol"]
    verdict: DoctorVerdict
    exit_status: int
    interrupted_by: str | None
    adapter: ExaminedAdapter
    limits: TimeLimits
    counts: CheckCounts
    checks: tuple[CheckReport, ...]
    timing: Timing
    stderr_tail: str
    retryproof: str


def count(checks: tuple[CheckReport, ...]) -> CheckCounts:
    """How the checks came out."""
    verdicts = [check.verdict for check in checks]
    return CheckCounts(
        planned=len(checks),
        passed=verdicts.count("pass"),
        failed=verdicts.count("fail"),
        not_checked=verdicts.count("not-checked"),
    )

"""The check of the time limits, and how much room is left under them."""

from collections.abc import Iterator

from retryproof_protocol.messages import Method

from .findings import ROUNDS, Findings, Trouble
from .verdict import Passed, Verdict, not_checked

NARROW = 0.5
"""From this part of a limit on, a slower or busier machine may well go over it."""


def time_limits(findings: Findings) -> Verdict:
    """No call takes longer than a run allows; how near the slowest comes to that."""
    limits = findings.limits
    slowest = slowest_call(findings)
    if slowest is not None and slowest[1] > limits.call_seconds:
        return Trouble(
            "time",
            f"A call of `{slowest[0]}` took {slowest[1]:.2f} s; a run would have killed the "
            f"adapter after {limits.call_seconds:g} s.",
            "Find what it waits for. In tests, lower the pauses, retries and timeouts of the "
            "service and its clients; do slow preparations before the answer to `initialize`.",
        )
    startup = slowest_startup(findings)
    if slowest is None or startup is None or len(findings.rounds[0]) < ROUNDS:
        return not_checked(findings)
    seen = (
        f"The slowest call, of `{slowest[0]}`, took {_readable(slowest[1])} of "
        f"{limits.call_seconds:g} s; the start took {_readable(startup)} of "
        f"{limits.startup_seconds:g} s."
    )
    return Passed(seen, " ".join(_narrow(findings, slowest[1], startup)) or None)


def slowest_call(findings: Findings) -> tuple[Method, float] | None:
    """The call of `reset` or `step` that took longest, in seconds."""
    timed = [
        (answer.method, answer.seconds)
        for conversation in findings.conversations
        for answer in conversation.answers
        if answer.method in {"reset", "step"}
    ]
    return max(timed, key=lambda call: call[1], default=None)


def slowest_startup(findings: Findings) -> float | None:
    """The longest time from launch to the answer to `initialize`, in seconds."""
    startups = (conversation.startup_seconds for conversation in findings.conversations)
    return max((seconds for seconds in startups if seconds is not None), default=None)


def _narrow(findings: Findings, call_seconds: float, startup_seconds: float) -> Iterator[str]:
    if call_seconds > NARROW * findings.limits.call_seconds:
        yield "A busier machine could bring that call over its limit: see what it waits for."
    if startup_seconds > NARROW * findings.limits.startup_seconds:
        yield "A busier machine could bring the start over its limit: allow --startup-timeout more."


def _readable(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"

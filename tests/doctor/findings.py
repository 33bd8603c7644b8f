"""Findings made by hand: an adapter that is well, and what may be otherwise."""

from typing import Any

from msgspec.structs import replace
from retryproof.doctor.findings import (
    PROBE,
    Answer,
    Conversation,
    Findings,
    Leaving,
    Occasion,
    Trouble,
)
from retryproof.reports.doctor import TimeLimits
from retryproof_protocol.messages import AdapterIdentity, Observation

LIMITS = TimeLimits(30.0, 2.0, 1.0)
ROUND = (
    Observation(201, 1, 1),
    Observation(200, 1, 1),
    Observation(409, None, 1),
    Observation(None, None, 2),
    Observation(200, 2, 2),
)
TROUBLE = Trouble("step", "It did something else.", "Have it do what it should.")


def left(occasion: Occasion, **changes: Any) -> Leaving:
    """It was gone in time, and left nothing, unless it is changed."""
    leaving = Leaving(occasion, True, False, 0.02, 0, "exited with status 0", 0, ())
    return replace(leaving, **changes)


def conversation(occasion: Occasion, count: int, **changes: Any) -> Conversation:
    """A whole one of so many rounds, unless it is changed."""
    calls = [Answer("reset", 0.001), *(Answer("step", 0.002) for _ in PROBE)]
    whole = Conversation(
        occasion,
        was_launched=True,
        identity=AdapterIdentity("orders", "2.3", "Go 1.22"),
        startup_seconds=0.045,
        answers=[Answer("initialize", 0.04), *calls * count],
        rounds=[ROUND] * count,
        leaving=left(occasion),
    )
    return replace(whole, **changes)


def findings(*conversations: Conversation) -> Findings:
    """These, or those of an adapter that is well."""
    well = (conversation("shutdown", 2), conversation("end-of-input", 1))
    return Findings(conversations or well, LIMITS)

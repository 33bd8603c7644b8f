"""Runs as the daemon shows them."""

from typing import Any

import msgspec
from retryproof.api.views import RunView
from retryproof.reports.report import Counts

RUN = RunView(
    id="5b1f00aa5b1f00aa",
    state="queued",
    suite="retry",
    adapter="/project/adapter.py",
    client="/project",
    idempotency_key="7d0c",
    on_interrupt="end",
    created_at="2030-01-02T03:04:05.678+00:00",
    started_at=None,
    ended_at=None,
    verdict=None,
    exit_status=None,
    counts=None,
)
STARTED: dict[str, Any] = {"started_at": "2030-01-02T03:04:06.000+00:00"}
ENDED: dict[str, Any] = {**STARTED, "ended_at": "2030-01-02T03:04:07.250+00:00"}
PASSED: dict[str, Any] = {
    **ENDED,
    "state": "finished",
    "verdict": "pass",
    "exit_status": 0,
    "counts": Counts(7, 7, 0, 0, 0),
}
FAILED: dict[str, Any] = {
    **PASSED,
    "verdict": "fail",
    "exit_status": 1,
    "counts": Counts(7, 5, 2, 0, 0),
}
CUT_SHORT: dict[str, Any] = {
    **ENDED,
    "verdict": "incomplete",
    "exit_status": 1,
    "counts": Counts(7, 1, 0, 1, 5),
}


def view(**changes: Any) -> RunView:
    """A queued run, but for the changes."""
    return msgspec.structs.replace(RUN, **changes)


def document(**changes: Any) -> Any:
    """The same as a JSON value."""
    return msgspec.to_builtins(view(**changes))


def page(*runs: RunView, total: int | None = None, following: str | None = None) -> Any:
    """A page of runs as a JSON value."""
    shown = [msgspec.to_builtins(run) for run in runs]
    return {"runs": shown, "total": len(runs) if total is None else total, "next": following}

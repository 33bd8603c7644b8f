"""Stored runs as the API shows them."""

from datetime import UTC, datetime

import msgspec
from msgspec import Raw
from msgspec.structs import asdict

from ..api.views import RunView, RunWithReport
from ..store.runs import RunRecord
from .accepting import decode_kept


def view_of(record: RunRecord) -> RunView:
    """The run without its report."""
    return msgspec.convert(
        {
            "id": record.id,
            "state": record.state,
            "suite": record.suite,
            "adapter": record.adapter,
            "client": record.client,
            "idempotencyKey": record.idempotency_key,
            "onInterrupt": decode_kept(record.submission).on_interrupt,
            "createdAt": _iso(record.created_at),
            "startedAt": _iso(record.started_at),
            "endedAt": _iso(record.ended_at),
            "verdict": record.verdict,
            "exitStatus": record.exit_status,
            "counts": None if record.counts is None else msgspec.json.decode(record.counts),
        },
        RunView,
    )


def with_report(record: RunRecord, report: bytes | None) -> RunWithReport:
    """The run with its report, JSON."""
    return RunWithReport(**asdict(view_of(record)), report=Raw(report or b"null"))


def _iso(moment: float | None) -> str | None:
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")

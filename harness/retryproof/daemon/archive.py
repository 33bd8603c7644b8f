"""Runs as they are in the store: their reports, and how those end that were broken off.

Everything here may wait for the disk.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ..api.events import encode_event, read_event
from ..api.submission import SuiteName
from ..app import render_by_itself
from ..events import Event, RunEnded
from ..reports.formats import ReportFormat, as_json, as_text
from ..reports.report import RunReport
from ..store.runs import Entry, Happened, Over, Requeued, RunRecord, RunStore, State
from ..suites import Suite
from . import records
from .accepting import KeptRun, decode_kept

CANCELLATION = "cancellation"
DAEMON_STOP = "daemon stop"
DAEMON_DEATH = "daemon death"
INTERNAL_ERROR = "internal error"
"""What cuts a run short, as its report has it."""
_STATES: Mapping[str | None, State] = {None: "finished", CANCELLATION: "cancelled"}
_ALL = 2**31
MAX_RERUNS = 10
"""After so many deaths of the daemon in the middle of one run, the run may be why it dies."""


class Archive:
    """Each method raises StoreError where the store can't be used."""

    def __init__(
        self,
        store: RunStore,
        suite_named: Callable[[SuiteName], Suite[Any]],
        now: Callable[[], float],
    ) -> None:
        self.suite_named = suite_named
        self._store = store
        self._now = now

    def suite_of(self, record: RunRecord) -> Suite[Any]:
        """The suite that the run is driven through."""
        return self.suite_named(_suite_name(record))

    def report(self, record: RunRecord) -> RunReport[Any] | None:
        """The report of a run that is over; None if it is not, or was never started."""
        plan = self._store.plan(record)
        if plan is None or record.ended_at is None:
            return None
        attempt = records.last_attempt(self._events(record))
        return self._fold(record, attempt, plan)

    def report_as(self, record: RunRecord, wanted: ReportFormat) -> bytes | None:
        """`report` in that format."""
        report = self.report(record)
        if report is None:
            return None
        if wanted == "json":
            return as_json(report)
        return as_text(render_by_itself(_suite_name(record), report))

    def settle_what_was_left(self) -> None:
        """Ends the runs in whose middle the last daemon died, or puts them back into the queue."""
        for record in self._store.running():
            self._store.write(self.ending(record, DAEMON_DEATH))

    def ending(self, record: RunRecord, cause: str) -> Iterable[Entry]:
        """What is still to be recorded of a run that was broken off."""
        kept = decode_kept(record.submission)
        events = self._events(record)
        attempt = records.last_attempt(events)
        if not attempt and record.state == "running":
            # Nothing is launched before the start of the attempt is known to be on the disk.
            yield Requeued(record.id)
            return
        if not attempt:
            yield Over(record.id, self._now(), "interrupted", kept.encode_without_secrets())
            return
        plan = self._store.plan(record) or b"[]"
        cases = records.decode_plan(self.suite_of(record).case_type, plan)
        closing = records.closing_events(attempt, cases, cause)
        for number, event in enumerate(closing, len(events) + 1):
            yield Happened(record.id, number, encode_event(event))
        report = self._fold(record, [*attempt, *closing], plan)
        if _deaths(events) >= MAX_RERUNS:
            yield self._over(record.id, kept, report)
        else:
            yield self.outcome(record.id, kept, report)

    def outcome(self, run: str, kept: KeptRun, report: RunReport[Any]) -> Entry:
        """What becomes of a run that was driven, by its report."""
        is_by_the_daemon = report.interrupted_by in {DAEMON_STOP, DAEMON_DEATH}
        if is_by_the_daemon and kept.on_interrupt == "rerun":
            return Requeued(run)
        return self._over(run, kept, report)

    def _over(self, run: str, kept: KeptRun, report: RunReport[Any]) -> Over:
        return Over(
            run=run,
            at=self._now(),
            state=_STATES.get(report.interrupted_by, "interrupted"),
            submission=kept.encode_without_secrets(),
            verdict=report.verdict,
            exit_status=report.exit_status,
            counts=msgspec.json.encode(report.counts),
        )

    def _fold(self, record: RunRecord, attempt: Iterable[Event], plan: bytes) -> RunReport[Any]:
        suite = self.suite_of(record)
        log = suite.new_log()
        records.replay(attempt, records.decode_plan(suite.case_type, plan), log)
        report: RunReport[Any] = log.report()
        return report

    def _events(self, record: RunRecord) -> list[Event]:
        return [read_event(content) for _, content in self._store.events(record, 0, _ALL)]


def _suite_name(record: RunRecord) -> SuiteName:
    name: SuiteName = msgspec.convert(record.suite, SuiteName)
    return name


def _deaths(events: Iterable[Event]) -> int:
    return sum(
        isinstance(event, RunEnded) and event.interrupted_by == DAEMON_DEATH for event in events
    )

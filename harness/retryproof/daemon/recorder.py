"""Hands the events of one run to the journal."""

from collections.abc import Callable

from ..api.events import encode_event
from ..events import Event, RunStarted
from ..store.runs import Happened, Started
from . import records
from .journal import Journal


class Recorder:
    """A sink; its events are numbered on from `last`."""

    def __init__(self, journal: Journal, run: str, last: int, now: Callable[[], float]) -> None:
        self._journal = journal
        self._run = run
        self._last = last
        self._now = now

    def __call__(self, event: Event) -> None:
        """Takes the next event."""
        if isinstance(event, RunStarted):
            self._journal.write(Started(self._run, self._now(), records.encode_plan(event)))
        self._last += 1
        self._journal.write(Happened(self._run, self._last, encode_event(event)))

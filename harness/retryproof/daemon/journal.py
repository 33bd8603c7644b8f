"""What happens in the runs, to the store: in order, many at a time, by a thread of its own.

Whoever has something to write never waits for the disk. If the store can't be written, all of it
is kept and tried again; a run goes on meanwhile, and its verdict does not depend on the disk.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from ..store.runs import Entry, RunStore

_GATHER_SECONDS = 0.02
"""A commit waits for the disk: so long, and no longer, more is gathered for the same one."""
_MAX_BATCH = 1000
_RETRY_SECONDS = 0.25


class Journal:
    """Writes entries to the store.

    Attributes:
        problem: why the store can't be written now; None if it can, as far as is known.
    """

    def __init__(self, store: RunStore, on_written: Callable[[Sequence[Entry]], object]) -> None:
        """Starts the thread; `on_written` is told there what is on the disk now."""
        self._store = store
        self._on_written = on_written
        self._entries: queue.SimpleQueue[Entry | threading.Event] = queue.SimpleQueue()
        self._give_up_at: float | None = None
        self.problem: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="journal")
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Has the entry written soon."""
        self._entries.put(entry)

    def settle(self, limit_seconds: float) -> bool:
        """Waits until all that was handed over before is on the disk; False if it took longer."""
        mark = threading.Event()
        self._entries.put(mark)
        return mark.wait(limit_seconds)

    def close(self, limit_seconds: float) -> bool:
        """Writes what is left, within the limit, and ends the thread; whether all is written."""
        self._give_up_at = time.monotonic() + limit_seconds
        closing = _Closing()
        self._entries.put(closing)
        self._thread.join()
        return self.problem is None

    def _work(self) -> None:
        is_closing = False
        while not is_closing:
            batch, marks = self._gather()
            is_closing = any(isinstance(mark, _Closing) for mark in marks)
            if not self._write(batch):
                return  # Nothing is written after a gap: it would tell another story.
            for mark in marks:
                mark.set()

    def _gather(self) -> tuple[list[Entry], list[threading.Event]]:
        """What there is to write; it waits for the first, and briefly for more."""
        batch: list[Entry] = []
        marks: list[threading.Event] = []
        item = self._entries.get()
        deadline = time.monotonic() + _GATHER_SECONDS
        while True:
            if isinstance(item, threading.Event):
                marks.append(item)
            else:
                batch.append(item)
            # Who has set a mark waits for it.
            patience = 0 if marks else max(0, deadline - time.monotonic())
            if len(batch) >= _MAX_BATCH:
                return batch, marks
            try:
                item = (
                    self._entries.get(timeout=patience) if patience else self._entries.get_nowait()
                )
            except queue.Empty:
                return batch, marks

    def _write(self, batch: Sequence[Entry]) -> bool:
        while batch:
            try:
                self._store.write(batch)
            except Exception as error:  # noqa: BLE001 - nothing may be lost, whatever this is
                self.problem = error
                if self._give_up_at is not None and time.monotonic() > self._give_up_at:
                    return False
                time.sleep(_RETRY_SECONDS)
            else:
                self.problem = None
                self._on_written(batch)
                return True
        return True


class _Closing(threading.Event):
    """The mark after which nothing comes."""

"""Takes runs in, drives as many at a time as it may, and keeps all that happens in them."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct, field

from ..api.reading import MalformedBodyError, as_form, read_document
from ..api.submission import RunSubmission, SuiteName
from ..app import drive_async
from ..errors import StoreError
from ..fuse.fingerprint import BodyError, fingerprint_of
from ..reports.report import RunReport
from ..store.runs import (
    Accepted,
    Entry,
    KeyUse,
    NewRun,
    Over,
    RunRecord,
    RunStore,
)
from ..suites import Suite
from ..supervise.interruption import Work
from .accepting import decode_kept, describe, prepare
from .archive import CANCELLATION, DAEMON_STOP, INTERNAL_ERROR, Archive
from .fair_queue import FairQueue
from .followers import Followers
from .journal import Journal
from .recorder import Recorder

MAX_QUEUED = 1_000
STOP_SECONDS = 5.0
"""From the wish to stop on, for what runs to end by itself; then it is killed."""
_LAST_WRITE_SECONDS = 3.0
_SETTLE_LOOK_SECONDS = 1.0
_STORE_PAUSE_SECONDS = 1.0
_SPARE_THREADS = 16
_ID_BYTES = 8

_Value = TypeVar("_Value")
_logger = logging.getLogger(__name__)


class StoppingError(Exception):
    """The daemon takes nothing on any more."""


class InProgress(Struct):
    """A run that is being driven; `cause` says why it is to be cut short, if it is."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    cause: str | None = None

    def cut_short(self, cause: str) -> None:
        """Ends the pending call, and kills the adapter."""
        if self.cause is None:
            self.cause = cause
            self.scope.cancel()


class Engine:
    """The runs of one daemon. Everything here is for its event loop.

    Attributes:
        jobs: how many runs are driven at a time.
        archive: the runs as they are in the store.
        followers: told of each run that has news in the store.
        is_stopping: nothing is taken on any more.
    """

    def __init__(
        self,
        store: RunStore,
        suite_named: Callable[[SuiteName], Suite[Any]],
        jobs: int,
        now: Callable[[], float],
        watch: Callable[[RunReport[Any]], object],
    ) -> None:
        """`now` tells the Unix time; `watch` sees the report of each run that was driven."""
        self.jobs = jobs
        self.followers = Followers()
        self.is_stopping = False
        self._store = store
        self.archive = Archive(store, suite_named, now)
        self._now = now
        self._watch = watch
        self._queue = FairQueue()
        self._running: dict[str, InProgress] = {}
        self._change = anyio.Event()
        self._threads = anyio.CapacityLimiter(_SPARE_THREADS)
        self._journal: Journal | None = None

    @property
    def queued(self) -> int:
        """How many runs wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """How many runs are being driven."""
        return len(self._running)

    @property
    def problem(self) -> str | None:
        """Why no run can be taken on; None if one can."""
        if self.is_stopping:
            return "The daemon is stopping."
        error = None if self._journal is None else self._journal.problem
        return None if error is None else str(error)

    def load(self) -> None:
        """Takes over what the last daemon has left: once, before anything else. It blocks.

        Raises:
            StoreError: that can't be read, or put in order.
        """
        self.archive.settle_what_was_left()
        for run, client in self._store.waiting():
            self._queue.add(run, client)

    async def work(self, *, task_status: TaskStatus[None]) -> None:
        """Drives runs until it is stopped, and then until all that happened is in the store."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = self.jobs + _SPARE_THREADS
        loop = asyncio.get_running_loop()
        self._journal = Journal(
            self._store, lambda entries: loop.call_soon_threadsafe(self._tell, entries)
        )
        try:
            async with anyio.create_task_group() as group:
                task_status.started()
                await self._drive_while_wanted(group, self._journal)
                await self._cut_short_in_time()
        finally:
            with anyio.CancelScope(shield=True):
                await self.in_thread(self._journal.close, _LAST_WRITE_SECONDS)
            self.followers.close()

    def stop(self) -> None:
        """Takes nothing on any more, and lets `work` end."""
        self.is_stopping = True
        self._change.set()

    async def submit(self, body: bytes, key: str | None) -> Accepted:
        """Takes a run on, unless its key or a full queue stands against it.

        It is on the disk when this returns.

        Raises:
            MalformedBodyError: the body asks for nothing that can be run.
            StoreError: it can't be kept now.
            StoppingError: the daemon is stopping.
        """
        if self.is_stopping:
            raise StoppingError
        document = read_document(body)
        submission = as_form(document, RunSubmission)
        use = None if key is None else KeyUse(key, _fingerprint(document))
        with anyio.CancelScope(shield=True):
            accepted = await self.in_thread(self._accept, submission, use)
            if accepted.ruling == "create" and accepted.run is not None:
                self._queue.add(accepted.run, submission.client)
                self._change.set()
        return accepted

    async def cancel(self, record: RunRecord) -> None:
        """Ends the run: at once if it waits, soon if it is driven, never if it is over.

        Raises:
            StoreError: that can't be recorded now.
        """
        if (run := self._running.get(record.id)) is not None:
            run.cut_short(CANCELLATION)
        elif record.state == "queued" and self._queue.remove(record.id, record.client):
            # Out of the queue first: it must not be driven while its end is being written.
            kept = decode_kept(record.submission)
            over = Over(record.id, self._now(), "cancelled", kept.encode_without_secrets())
            try:
                await self.in_thread(self._store.cancel_queued, over)
            except StoreError:
                self._queue.add(record.id, record.client)
                self._change.set()
                raise
            self.followers.tell([record.id])

    async def in_thread(self, look: Callable[..., _Value], *arguments: Any) -> _Value:
        """Does what may wait for the disk."""
        return await anyio.to_thread.run_sync(look, *arguments, limiter=self._threads)

    def _accept(self, submission: RunSubmission, use: KeyUse | None) -> Accepted:
        # A replay must not depend on whether the adapter's files are still there.
        if use is not None and (known := self._store.known(use, self._now())) is not None:
            return known
        kept = prepare(submission, self.archive.suite_named(submission.suite))
        run = NewRun(
            id=secrets.token_hex(_ID_BYTES),
            suite=submission.suite,
            adapter=describe(submission.adapter),
            client=submission.client,
            submission=kept.encode(),
        )
        return self._store.accept(run, use, self._now(), MAX_QUEUED)

    async def _drive_while_wanted(self, group: TaskGroup, journal: Journal) -> None:
        while not self.is_stopping:
            self._change = change = anyio.Event()
            while len(self._running) < self.jobs and journal.problem is None:
                if (taken := self._queue.take()) is None:
                    break
                run, client = taken
                self._running[run] = InProgress()
                group.start_soon(self._drive, run, client, journal)
            await change.wait()

    async def _cut_short_in_time(self) -> None:
        with anyio.move_on_after(STOP_SECONDS):
            while self._running:
                self._change = change = anyio.Event()
                await change.wait()
        for run in self._running.values():
            run.cut_short(DAEMON_STOP)

    async def _drive(self, run: str, client: str, journal: Journal) -> None:
        progress = self._running[run]
        is_unread = False
        try:
            record, last = await self.in_thread(self._read_to_drive, run)
            await self._drive_recorded(record, last, progress, journal)
        except StoreError as error:
            _logger.warning("%s", error.message)
            is_unread = True
        except Exception:
            _logger.exception("run %s broke off: this is a bug in retryproof", run)
            await self.in_thread(self._abandon, run, journal)
        finally:
            del self._running[run]
            self._queue.over(client)
            self._change.set()
        if is_unread:
            await anyio.sleep(_STORE_PAUSE_SECONDS)
            self._queue.add(run, client)
            self._change.set()

    async def _drive_recorded(
        self, record: RunRecord, last: int, progress: InProgress, journal: Journal
    ) -> None:
        kept = decode_kept(record.submission)

        async def until(work: Work) -> str | None:
            with progress.scope:
                # A run that has begun must be known to have, whatever happens next.
                while not await self.in_thread(journal.settle, _SETTLE_LOOK_SECONDS):
                    pass
                await work()
            return progress.cause if progress.scope.cancelled_caught else None

        recorder = Recorder(journal, record.id, last, self._now)
        suite = self.archive.suite_of(record)
        report = await drive_async(suite, kept.request, [recorder], until=until)
        self._watch(report)
        journal.write(self.archive.outcome(record.id, kept, report))

    def _read_to_drive(self, run: str) -> tuple[RunRecord, int]:
        record = self._store.get(run)
        if record is None:
            raise LookupError(f"the run {run} is in the queue, but not in the store")
        return record, self._store.last_event(record)

    def _abandon(self, run: str, journal: Journal) -> None:
        journal.settle(_SETTLE_LOOK_SECONDS)
        record = self._store.get(run)
        if record is not None:
            for entry in self.archive.ending(record, INTERNAL_ERROR):
                journal.write(entry)

    def _tell(self, entries: Iterable[Entry]) -> None:
        self.followers.tell({entry.run for entry in entries})
        self._change.set()


def _fingerprint(document: Any) -> str:
    try:
        return fingerprint_of(document)
    except BodyError as error:
        raise MalformedBodyError(error.path, f"{error.problem}") from None

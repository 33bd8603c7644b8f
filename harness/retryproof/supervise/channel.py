"""The pipes to one adapter, and waiting on all of them at once.

A plain blocking poll in a worker thread: an event-loop round trip a call costs five times the
pipe itself. Nothing here blocks longer than it is told to, whatever the adapter does: all
descriptors are non-blocking, stderr is drained throughout, and each wait ends at its deadline,
when the adapter is gone, or when the run is cancelled.
"""

import contextlib
import math
import os
import select
import time
from enum import Enum, auto

_READ_BYTES = 64 * 1024
STDERR_TAIL_BYTES = 64 * 1024
_READS_OF_A_FULL_PIPE = 16
"""A pipe holds at most 1 MiB, unless its writer is privileged."""


_BRIEF_LOOKS = 25
"""To be put to sleep and woken again costs more than so many looks."""


class Wake(Enum):
    """Why a wait ended, apart from output."""

    DEADLINE = auto()
    GONE = auto()
    STDIN_CLOSED = auto()
    TOO_MUCH_OUTPUT = auto()


class CancelledError(Exception):
    """The run was cancelled while it waited for the adapter."""


class CancelToken:
    """Wakes every wait of a run, from any thread, once and for all."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()

    def fileno(self) -> int:
        """Readable from the cancellation on."""
        return self._reader

    def cancel(self) -> None:
        """Ends the pending wait, and each later one."""
        os.write(self._writer, b"\0")

    def close(self) -> None:
        """Frees the descriptors."""
        os.close(self._reader)
        os.close(self._writer)


class Channel:
    """Our ends of the pipes to one adapter.

    Attributes:
        adapter_ends: the adapter's stdin, stdout and stderr, to be closed here once it runs.
        output_bytes: how much has been read from stdout and stderr together.
    """

    def __init__(self, guard_descriptor: int, cancel: CancelToken, max_output_bytes: int) -> None:
        adapter_stdin, self._stdin = os.pipe()
        self._stdout, adapter_stdout = os.pipe()
        self._stderr, adapter_stderr = os.pipe()
        self.adapter_ends = (adapter_stdin, adapter_stdout, adapter_stderr)
        self._guard, self._cancel = guard_descriptor, cancel.fileno()
        self._pending = b""
        self._stdin_watched = False
        self._stderr_tail = b""
        self._max_output_bytes = max_output_bytes
        self.output_bytes = 0
        self._open = {self._stdin, self._stdout, self._stderr}
        self._poll = select.poll()
        for descriptor in (self._stdout, self._stderr, self._guard, self._cancel):
            self._poll.register(descriptor, select.POLLIN)
        for descriptor in self._open:
            os.set_blocking(descriptor, False)

    def close_adapter_ends(self) -> None:
        """Closes this process's copies, so that the pipes end when the adapter does."""
        for descriptor in self.adapter_ends:
            os.close(descriptor)

    @property
    def stderr_tail(self) -> bytes:
        """The last 64 KiB of what the adapter wrote to stderr."""
        return self._stderr_tail[-STDERR_TAIL_BYTES:]

    def write(self, data: bytes) -> bool:
        """Queues bytes for the adapter's stdin and writes what the pipe takes at once.

        False if the adapter has closed its stdin. What the pipe does not take is written while
        `read` waits.
        """
        self._pending += data
        return self._write_pending()

    def read(self, deadline: float) -> bytes | Wake:
        """Output as it comes, `b""` once stdout has ended, or why there is none.

        `deadline` is a time of `time.monotonic`; one that has passed means a brief look at
        what is there already.

        Raises:
            CancelledError: the run was cancelled.
        """
        while True:
            remaining_seconds = deadline - time.monotonic()
            # Rounded up: a wait must not end before its deadline.
            wait_ms = math.ceil(remaining_seconds * 1000) if remaining_seconds > 0 else 0
            ready = dict(self._look_briefly() or self._poll.poll(wait_ms))
            if self._cancel in ready:
                raise CancelledError
            if self._stderr in ready:
                self._drain_stderr()
            if self.output_bytes > self._max_output_bytes:
                return Wake.TOO_MUCH_OUTPUT
            if self._stdout in ready:
                return self._read_stdout()
            if self._stdin in ready and not self._write_pending():
                return Wake.STDIN_CLOSED
            if self._guard in ready:
                return Wake.GONE
            if remaining_seconds <= 0:
                return Wake.DEADLINE

    def _look_briefly(self) -> list[tuple[int, int]]:
        """What is ready within some microseconds, as a quick adapter's answer is."""
        for _ in range(_BRIEF_LOOKS):
            if ready := self._poll.poll(0):
                return ready
        return []

    def wait_gone(self, deadline: float) -> bool:
        """Discards output until the adapter is gone; False if the deadline came first."""
        while time.monotonic() < deadline:
            if self.read(deadline) is Wake.GONE:
                return True
        return False

    def end_stdin(self) -> None:
        """Closes the adapter's stdin once all that is queued has been written, or now if not."""
        self._write_pending()
        self._close(self._stdin)

    def close(self) -> None:
        """Takes what stderr still holds and closes all ends. The adapter must be gone."""
        for _ in range(_READS_OF_A_FULL_PIPE):
            self._drain_stderr()
        for descriptor in tuple(self._open):
            self._close(descriptor)

    def _write_pending(self) -> bool:
        """Whether the adapter can still be written to."""
        if self._stdin not in self._open:
            return False
        had_to_wait = False
        try:
            while self._pending and not had_to_wait:
                written = os.write(self._stdin, self._pending)
                self._pending = self._pending[written:]
        except BlockingIOError:
            had_to_wait = True
        except BrokenPipeError:
            self._pending = b""
            self._close(self._stdin)
            return False
        self._watch_stdin(had_to_wait)
        return True

    def _watch_stdin(self, wanted: bool) -> None:
        if wanted != self._stdin_watched:
            self._stdin_watched = wanted
            if wanted:
                self._poll.register(self._stdin, select.POLLOUT)
            else:
                self._poll.unregister(self._stdin)

    def _read_stdout(self) -> bytes:
        data = os.read(self._stdout, _READ_BYTES)
        if not data:
            self._close(self._stdout)
        self.output_bytes += len(data)
        return data

    def _drain_stderr(self) -> None:
        if self._stderr not in self._open:
            return
        try:
            data = os.read(self._stderr, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close(self._stderr)
            return
        self.output_bytes += len(data)
        self._stderr_tail = (self._stderr_tail + data)[-STDERR_TAIL_BYTES:]

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            with contextlib.suppress(KeyError):
                self._poll.unregister(descriptor)
            os.close(descriptor)

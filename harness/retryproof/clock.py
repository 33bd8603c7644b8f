"""The time of one run: seconds since it started, and when that was."""

import time
from datetime import UTC, datetime


class RunClock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

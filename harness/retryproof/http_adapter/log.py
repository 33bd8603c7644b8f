"""What the adapter is doing, as lines on stderr. The runner quotes the last ones of a timeout."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Log:
    """Says what begins, and knows what has not ended."""

    def __init__(self) -> None:
        self._pending: str | None = None

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Says that this begins; it is pending until the block ends."""
        sys.stderr.write(f"{what}\n")
        self._pending = what
        try:
            yield
        finally:
            self._pending = None

    def note_delay(self, after_seconds: float) -> None:
        """Says what the call is still waiting for."""
        if self._pending is not None:
            sys.stderr.write(
                f"{self._pending} has not ended after {after_seconds:g} s: the state of the "
                "service is unknown.\n"
            )

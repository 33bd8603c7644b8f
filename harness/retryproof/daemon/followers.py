"""Waiting for news of a run, for any number of followers."""

from collections.abc import Iterable

import anyio


class Followers:
    """Used in the event loop alone."""

    def __init__(self) -> None:
        self._news: dict[str, anyio.Event] = {}
        self.is_closed = False

    def news_of(self, run: str) -> anyio.Event:
        """Set when there is news of the run, later than this call, or when there will be none.

        Ask before you look into the store, and wait after it: nothing is missed then.
        """
        event = self._news.setdefault(run, anyio.Event())
        if self.is_closed:
            event.set()
        return event

    def tell(self, runs: Iterable[str]) -> None:
        """There is news of these runs."""
        for run in runs:
            if (event := self._news.pop(run, None)) is not None:
                event.set()

    def close(self) -> None:
        """There will be no more news of any run."""
        self.is_closed = True
        self.tell(tuple(self._news))

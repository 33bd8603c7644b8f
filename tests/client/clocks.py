"""Time as a test says: a pause takes none, and is remembered."""

from collections.abc import Callable

from retryproof.client.patience import Patience


class Clock:
    """Tells the time, which goes on with each pause alone.

    Attributes:
        pauses: how long each was.
        on_pause: is called in each, such as to start what is waited for.
    """

    def __init__(self, on_pause: Callable[[], object] = lambda: None) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_pause = on_pause

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.on_pause()

    def patience(self, limit_seconds: float = 60.0) -> Patience:
        return Patience(limit_seconds, lambda: self.now, self.pause)

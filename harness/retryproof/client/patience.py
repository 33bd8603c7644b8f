"""How long a daemon that does not answer is waited for."""

import time
from collections.abc import Callable
from typing import TypeVar

from ..errors import (
    DaemonRefusalError,
    DaemonUnavailableError,
    LostConnectionError,
    RetryproofError,
)
from .backoff import backoff_seconds

AWAY_SECONDS = 60.0
"""A daemon that is restarted is back long before; one that was stopped for good is not."""
_SERVER_ERROR = 500

_Value = TypeVar("_Value")


class Patience:
    """Waits between looks at a daemon that is away, until that has taken too long."""

    def __init__(
        self,
        limit_seconds: float = AWAY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._pause = pause
        self._away_since: float | None = None
        self._failures = 0

    def renew(self) -> None:
        """The daemon has answered."""
        self._away_since = None
        self._failures = 0

    def wait(self, problem: RetryproofError) -> None:
        """Pauses before the next look.

        Raises:
            RetryproofError: the problem itself, if it is none of a daemon that is away, or the
                daemon has been away for too long.
        """
        now = self._clock()
        if self._away_since is None:
            self._away_since = now
        if not is_away(problem) or now - self._away_since >= self._limit_seconds:
            raise problem
        self._failures += 1
        self._pause(backoff_seconds(self._failures))

    def insist(self, look: Callable[[], _Value]) -> _Value:
        """What a look finds, once the daemon answers. It is repeated: it must not change a thing.

        Raises:
            RetryproofError: as `wait`.
        """
        while True:
            try:
                found = look()
            except RetryproofError as problem:
                self.wait(problem)
            else:
                self.renew()
                return found


def is_away(problem: RetryproofError) -> bool:
    """Whether the problem may be gone once a daemon has started, or its disk has room again."""
    if isinstance(problem, DaemonRefusalError):
        return problem.status >= _SERVER_ERROR
    return isinstance(problem, DaemonUnavailableError | LostConnectionError)

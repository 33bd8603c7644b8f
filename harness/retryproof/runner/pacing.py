"""When a step is due, for an adapter whose service has no clock that a test can set. Pure."""

from msgspec import Struct


class Pacing(Struct, frozen=True):
    """The case's ticks as moments: the first step's tick is when its answer arrived.

    So a record is never younger than its tick says. Moments are times of `time.monotonic`.
    """

    seconds_per_tick: float
    first_tick: int
    first_answered_at: float

    def due_at(self, tick: int) -> float:
        """The moment before which a step at this tick must not be sent."""
        return self.first_answered_at + (tick - self.first_tick) * self.seconds_per_tick

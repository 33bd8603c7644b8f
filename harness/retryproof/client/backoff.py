"""The pauses between tries."""

_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 2.0
_MAX_DOUBLINGS = 10
"""Far beyond the longest pause."""


def backoff_seconds(failures: int) -> float:
    """The pause after so many failures in a row, at least 1: twice as long each time, up to 2 s."""
    return min(_FIRST_SECONDS * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), _LONGEST_SECONDS)

"""Whatever a test here starts must be gone after it."""

from tests.leaks import nothing_is_left

__all__ = ["nothing_is_left"]

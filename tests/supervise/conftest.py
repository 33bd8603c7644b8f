"""Whatever a test here starts must be gone after it."""

from tests.leaks import nothing_is_left
from tests.supervising import cancel, guard

__all__ = ["cancel", "guard", "nothing_is_left"]

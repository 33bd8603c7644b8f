"""What the soak starts once and uses again and again."""

from tests.supervising import cancel, guard

__all__ = ["cancel", "guard"]

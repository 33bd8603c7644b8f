"""Files of another user, which only root can make."""

import os
from pathlib import Path

import pytest

OTHER_USER = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def give_away(path: Path) -> Path:
    """The path, which another user owns from now on."""
    os.chown(path, OTHER_USER, -1, follow_symlinks=False)
    return path

"""A fixture for tests that start processes: afterwards there are as many descriptors as before."""

import gc
import os
from collections.abc import Iterator

import pytest

from tests.driving import assert_nothing_is_left


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fails a test that leaves a descriptor or a process behind."""
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))
    yield
    gc.collect()
    assert_nothing_is_left()
    assert set(os.listdir("/proc/self/fd")) <= before

"""A fixture for tests that start processes: afterwards there are as many descriptors as before."""

import gc
import os
from collections.abc import Iterator

import psutil
import pytest


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fails a test that leaves a descriptor or a process behind."""
    gc.collect()
    descriptors = set(os.listdir("/proc/self/fd"))
    processes = set(psutil.Process().children(recursive=True))
    yield
    gc.collect()
    assert set(psutil.Process().children(recursive=True)) <= processes
    assert set(os.listdir("/proc/self/fd")) <= descriptors

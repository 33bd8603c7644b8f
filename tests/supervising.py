"""Fixtures for tests that start sessions themselves."""

from collections.abc import Iterator

import pytest
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Guard


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.close()


@pytest.fixture
def cancel() -> Iterator[CancelToken]:
    token = CancelToken()
    yield token
    token.close()

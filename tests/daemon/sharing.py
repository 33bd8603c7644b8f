"""One daemon for all tests of a file, which import both fixtures."""

from collections.abc import Iterator

import pytest

from tests.daemon.described import DescribedDaemon


@pytest.fixture(scope="module")
def daemon() -> Iterator[DescribedDaemon]:
    """A daemon that drives two runs at a time, and listens on TCP too."""
    with DescribedDaemon("--jobs", "2", "--listen", "127.0.0.1:0") as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def quiet_afterwards(daemon: DescribedDaemon, nothing_is_left: None) -> Iterator[None]:
    """A test's runs end with it, whatever became of it, and so do its connections."""
    yield
    try:
        going_on = daemon.client.get("/v1/runs", params={"state": ["queued", "running"]}).json()
        for run in going_on["runs"]:
            daemon.cancel(run["id"])
            daemon.wait_until_over(run["id"])
    finally:
        daemon.close_client()

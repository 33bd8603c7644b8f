"""One mapping from outcomes to exit statuses."""

import pytest
from retryproof.reports.exit_status import exit_status_of
from retryproof.reports.report import Verdict


@pytest.mark.parametrize(
    ("verdict", "interrupted_by", "status"),
    [
        pytest.param("pass", None, 0, id="pass"),
        pytest.param("fail", None, 1, id="fail"),
        pytest.param("incomplete", None, 1, id="incomplete"),
        pytest.param(True, None, 0, id="yes"),
        pytest.param(False, None, 1, id="no"),
        pytest.param("incomplete", "SIGINT", 130, id="Ctrl-C"),
        pytest.param("incomplete", "SIGTERM", 143, id="SIGTERM"),
        pytest.param("fail", "SIGINT", 130, id="Ctrl-C after a failed case"),
        pytest.param("pass", "SIGTERM", 143, id="SIGTERM after the last case"),
        pytest.param("pass", "SIGHUP", 1, id="another signal is no pass"),
    ],
)
def test_an_outcome_has_one_exit_status(
    verdict: Verdict | bool, interrupted_by: str | None, status: int
) -> None:
    assert exit_status_of(verdict, interrupted_by) == status

"""The report that comes with a run."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..api.submission import SuiteName
from ..api.views import RunWithReport
from ..errors import DaemonAnswerError
from ..reports.fuse_report import FuseReport
from ..reports.report import Report, RunReport

_TYPES: Mapping[SuiteName, type[RunReport[Any]]] = {"retry": Report, "retryfuse": FuseReport}


def report_of(run: RunWithReport) -> RunReport[Any] | None:
    """The run's report; None if it has none (yet).

    Raises:
        DaemonAnswerError: it is not in form.
    """
    try:
        report: RunReport[Any] | None = msgspec.json.decode(
            run.report, type=_TYPES[run.suite] | None
        )
    except msgspec.DecodeError as error:
        raise DaemonAnswerError(
            f"The report of the run {run.id} is not in form: {error}.",
            "Is the daemon of another version? `retryproof status` tells.",
        ) from None
    return report

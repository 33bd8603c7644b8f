"""The one mapping from outcomes to exit statuses, whatever the output format."""

from ..errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASS, EXIT_TERMINATED
from .report import Verdict

_INTERRUPTIONS = {"SIGINT": EXIT_INTERRUPTED, "SIGTERM": EXIT_TERMINATED}


def exit_status_of(verdict: Verdict | bool, interrupted_by: str | None = None) -> int:
    """The status for a verdict (or a check's yes or no), and the signal that cut a run short."""
    if interrupted_by is not None:
        return _INTERRUPTIONS.get(interrupted_by, EXIT_FAILED)
    return EXIT_PASS if verdict in {"pass", True} else EXIT_FAILED

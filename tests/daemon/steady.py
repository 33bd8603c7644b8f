"""What of a report is the same however often, and on however busy a machine, a run is made."""

from typing import Any

_CHANGING = {"startedAt", "elapsedMs", "stderrTail", "strayCommands"}
_CHANGING_RESOURCES = {
    "latencyMs",
    "peakRssBytes",
    "cpuSeconds",
    "overshootMs",
    "loadBefore",
    "loadAfter",
}


def steady(report: Any) -> Any:
    """The report, or a part of it, without times, load and what was measured."""
    if isinstance(report, list):
        return [steady(item) for item in report]
    if not isinstance(report, dict):
        return report
    left_out = _CHANGING | _CHANGING_RESOURCES
    return {name: steady(value) for name, value in report.items() if name not in left_out}

"""Numbers for Prometheus."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..reports.report import RunReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OVERSHOOT_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)
"""Around the 50 ms by which a deadline may be overrun."""
_KILLING = frozenset({"timeout", "malformed", "limit", "interrupted"})
"""Failures of an adapter that was alive until it was killed for them."""


class Metrics:
    """Counts what the runs come to, from the daemon's start on."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._queued = self._gauge("queued_runs", "Runs that wait.")
        self._running = self._gauge("running_runs", "Runs that are being driven.")
        self._verdicts = self._counter("verdicts", "Runs by their verdict.", "verdict")
        self._kills = self._counter("kills", "Process trees killed, by the failure.", "failure")
        self._leaks = Counter(
            "retryproof_leaks",
            "Processes beside an adapter's first one that had to be killed.",
            registry=self._registry,
        )
        self._overshoot = Histogram(
            "retryproof_deadline_overshoot_seconds",
            "How long past its deadline the latest call of a run was cut.",
            buckets=_OVERSHOOT_SECONDS,
            registry=self._registry,
        )

    def count(self, report: RunReport[Any]) -> None:
        """Takes the report of a run that has just ended."""
        self._verdicts.labels(report.verdict).inc()
        for case in report.cases:
            if case.failure is not None and case.failure.kind in _KILLING:
                self._kills.labels(case.failure.kind).inc()
        self._leaks.inc(report.resources.processes_leaked)
        if report.resources.overshoot_ms is not None:
            self._overshoot.observe(report.resources.overshoot_ms / 1000)

    def exposition(self, queued: int, running: int) -> bytes:
        """All of it, and how many runs there are now, in Prometheus' text format."""
        self._queued.set(queued)
        self._running.set(running)
        return generate_latest(self._registry)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(f"retryproof_{name}", meaning, registry=self._registry)

    def _counter(self, name: str, meaning: str, label: str) -> Counter:
        return Counter(f"retryproof_{name}", meaning, [label], registry=self._registry)

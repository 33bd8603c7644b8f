"""Parts of a report, each made from what the events said: counts, the adapter, latencies."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from retryproof_protocol.messages import AdapterIdentity

from ..contract.profile import deviations_of
from ..events import AdapterInitialized, RunStarted
from .report import CaseVerdict, Counts, Deviation, Latency, ReportedAdapter, Verdict

STANDARD_CALL_TIMEOUT_SECONDS = 2.0


def count(case_verdicts: Iterable[CaseVerdict]) -> Counts:
    """The verdicts, counted."""
    verdicts = list(case_verdicts)
    return Counts(
        planned=len(verdicts),
        passed=verdicts.count("pass"),
        failed=verdicts.count("fail"),
        incomplete=verdicts.count("incomplete"),
        not_run=verdicts.count("not-run"),
    )


def rounded(value: float) -> float:
    """To a thousandth: of a millisecond, or of a second. More digits would be noise."""
    return round(value, 3)


def verdict_of(counts: Counts) -> Verdict:
    """What the cases come to together."""
    if counts.incomplete or counts.not_run:
        return "incomplete"
    return "fail" if counts.failed else "pass"


def report_adapter(
    started: RunStarted[Any], initialized: AdapterInitialized | None
) -> ReportedAdapter:
    """The adapter as it was started, and as it named itself."""
    identity = AdapterIdentity("") if initialized is None else initialized.adapter
    return ReportedAdapter(
        command=started.adapter.command,
        host=started.adapter.host,
        cwd=started.adapter.cwd,
        added_environment=started.adapter.added_environment,
        sandbox=started.adapter.sandbox,
        name=identity.name or None,
        version=identity.version,
        language=identity.language,
        protocol_version=None if initialized is None else initialized.protocol_version,
        seconds_per_tick=None if initialized is None else initialized.seconds_per_tick,
    )


def deviations(started: RunStarted[Any]) -> Iterator[Deviation]:
    """In what the run departs from the contract: its dialect, its limit."""
    for deviation in deviations_of(started.profile):
        yield Deviation(deviation.name, deviation.value, deviation.standard)
    seconds = started.limits.call_seconds
    if seconds != STANDARD_CALL_TIMEOUT_SECONDS:
        yield Deviation("callTimeoutSeconds", seconds, STANDARD_CALL_TIMEOUT_SECONDS)


def percentiles(latencies_ms: Sequence[float]) -> Latency | None:
    """By the nearest rank; None of no calls."""
    if not latencies_ms:
        return None
    ordered = sorted(latencies_ms)
    return Latency(
        p50=rounded(_nearest_rank(ordered, 0.50)),
        p99=rounded(_nearest_rank(ordered, 0.99)),
        max=rounded(ordered[-1]),
    )


def _nearest_rank(ordered: Sequence[float], share: float) -> float:
    return ordered[math.ceil(share * len(ordered)) - 1]

"""What the reports of all suites have in common, for people: the head, the findings, the costs."""

import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from retryproof_protocol.quoting import escape_controls
from rich.text import Text

from ..contract.profile import SEED
from ..events import SandboxDescription
from .report import Counts, DeviationValue, RunReport

STYLES = {"pass": "green", "fail": "bold red", "incomplete": "bold yellow", "not-run": "dim"}
WORDS = {"pass": "pass", "fail": "FAIL", "incomplete": "INCOMPLETE", "not-run": "not run"}
_EVIDENCE = {
    "adapter": "what this adapter was observed to do",
    "self-test": "this installation drove a bundled adapter; it says nothing about any other",
    "reference-comparison": "how two bundled models differ; no adapter ran",
}
_MIB = 1024 * 1024


def describe_head(report: RunReport[Any]) -> Iterator[Text]:
    """The verdict first, then what was tested, and how."""
    verdict = Text(f"{WORDS[report.verdict]}: ", STYLES[report.verdict])
    yield verdict.append(describe_counts(report.counts), "not bold default")
    if report.interrupted_by is not None:
        yield Text(f"Interrupted by {report.interrupted_by}.", "bold yellow")
    yield from describe_evidence(report.evidence, report.not_covered)
    if report.profile != SEED.name:
        yield labelled("Profile", f"{report.profile}, a declared dialect of the contract.")
    for deviation in report.deviations:
        yield labelled(
            "Declared deviation",
            f"{deviation.name} is {_value(deviation.value)}, where the contract has "
            f"{_value(deviation.standard)}.",
        )
    contract = report.contract
    yield labelled("Contract", f"{contract.name} {contract.version}, {contract.digest}")
    yield labelled("Adapter", _describe_adapter(report))
    if report.adapter.sandbox is not None:
        yield labelled("Sandbox", _describe_sandbox(report.adapter.sandbox))


def describe_evidence(evidence: str, not_covered: tuple[str, ...]) -> list[Text]:
    """The lines that every report has near its top: its kind of evidence, and its limits."""
    return [
        labelled("Evidence", f"{evidence}: {_EVIDENCE[evidence]}."),
        labelled("Not covered", f"{', '.join(not_covered)}."),
    ]


def describe_command(command: tuple[str, ...], host: str | None, folder: str) -> str:
    """How an adapter is started, in words: the file that a bundled host runs, or the command."""
    if host == "http":
        return escape_controls(f"service {_shortened(command[-1], folder)}")
    if host is not None:
        return escape_controls(f"module {_shortened(command[2], folder)}")
    return escape_controls(shlex.join(command))


def describe_findings(report: RunReport[Any]) -> Iterator[Text]:
    """What the cases say together, and the warnings."""
    diagnosis = report.diagnosis
    fault = "" if diagnosis.fault is None else f"{diagnosis.fault}. "
    yield labelled("Diagnosis", f"{fault}{diagnosis.explanation}")
    for warning in report.warnings:
        yield labelled("Warning", warning)


def describe_resources(report: RunReport[Any]) -> str:
    """What the run took, in a line."""
    used = report.resources
    parts = [f"{used.calls} calls"]
    if used.latency_ms is not None:
        latency = used.latency_ms
        parts.append(f"p50 {latency.p50:g} ms, p99 {latency.p99:g} ms, max {latency.max:g} ms")
    parts.append(f"{report.elapsed_ms / 1000:.2f} s in all, {used.cpu_seconds:g} s of CPU")
    parts.append(f"peak {used.peak_rss_bytes / _MIB:.0f} MiB")
    launches = "launch" if used.processes_spawned == 1 else "launches"
    strays = "stray process" if used.processes_leaked == 1 else "stray processes"
    parts.append(f"{used.processes_spawned} {launches}, {used.processes_leaked} {strays} killed")
    if used.overshoot_ms is not None:
        parts.append(f"a deadline was overrun by {used.overshoot_ms:g} ms at most")
    if report.containment == "group":
        parts.append("containment: process group only, since this system has no subreaper")
    return "; ".join(parts) + "."


def labelled(label: str, text: str) -> Text:
    """A line that begins with what it is about."""
    return Text(f"{label}: ", "bold").append(text, "not bold")


def describe_counts(counts: Counts) -> str:
    """How many cases there are of each verdict."""
    cases = "case" if counts.planned == 1 else "cases"
    return (
        f"{counts.planned} {cases} planned: {counts.passed} passed, {counts.failed} failed, "
        f"{counts.incomplete} incomplete, {counts.not_run} not run"
    )


def _value(value: DeviationValue) -> str:
    if isinstance(value, tuple):
        return " or ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _describe_adapter(report: RunReport[Any]) -> str:
    adapter = report.adapter
    parts = [adapter.name, adapter.version, adapter.language and f"({adapter.language})"]
    identity = " ".join(part for part in parts if part)
    started = describe_command(adapter.command, adapter.host, adapter.cwd)
    return f"{escape_controls(identity)}; {started}" if identity else started


def _describe_sandbox(sandbox: SandboxDescription) -> str:
    network = "the network is open" if sandbox.network else "no network"
    folders = ", ".join(sandbox.writable)
    writable = f"may write in {folders}" if folders else "may write nowhere but in its own /tmp"
    return escape_controls(f"bubblewrap: {network}; {writable}.")


def _shortened(path: str, folder: str) -> str:
    inside = PurePath(path).is_relative_to(folder)
    return str(PurePath(path).relative_to(folder)) if inside else path

"""The report of a run for people: the verdict first, then a line a case, then what broke."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import PurePath

from retryproof_protocol.messages import Observation, Operation
from retryproof_protocol.quoting import escape_controls
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.bundle import Bundle
from ..events import Failure, SandboxDescription
from .report import CaseReport, Counts, Report, StepReport

_STYLES = {"pass": "green", "fail": "bold red", "incomplete": "bold yellow", "not-run": "dim"}
_WORDS = {"pass": "pass", "fail": "FAIL", "incomplete": "INCOMPLETE", "not-run": "not run"}
_WORD_WIDTH = 10
_NAME_WIDTH = 22
_EVIDENCE = {
    "adapter": "what this adapter was observed to do",
    "self-test": "this installation drove a bundled adapter; it says nothing about any other",
    "reference-comparison": "how two bundled models differ; no adapter ran",
}
_MIB = 1024 * 1024


def render_report(
    report: Report, bundle: Bundle, repeat_command: Callable[[str], str]
) -> Iterator[RenderableType]:
    """The whole report; `repeat_command` gives the command that runs just the named case."""
    yield from _head(report)
    yield Text()
    for case in report.cases:
        yield _case_line(case)
    yield Text()
    yield from _findings(report)
    for case in report.cases:
        if case.verdict in {"fail", "incomplete"}:
            yield Text()
            yield from _case_details(case, bundle, repeat_command)
    yield Text()
    yield _labelled("Resources", _describe_resources(report))


def describe_evidence(evidence: str, not_covered: tuple[str, ...]) -> list[Text]:
    """The lines that every report has near its top: its kind of evidence, and its limits."""
    return [
        _labelled("Evidence", f"{evidence}: {_EVIDENCE[evidence]}."),
        _labelled("Not covered", f"{', '.join(not_covered)}."),
    ]


def describe_command(command: tuple[str, ...], host: str | None, folder: str) -> str:
    """How an adapter is started, in words: the file that a bundled host runs, or the command."""
    if host == "http":
        return escape_controls(f"service {_shortened(command[-1], folder)}")
    if host is not None:
        return escape_controls(f"module {_shortened(command[2], folder)}")
    return escape_controls(shlex.join(command))


def describe_operation(operation: Operation) -> str:
    """An operation in words."""
    lost = ", lost" if operation.delivery == "lost" else ""
    return f"tick {operation.at}: key {operation.key}, body {operation.value}{lost}"


def describe_observation(observation: Observation | None) -> Text:
    """An observation in words."""
    return Text("no answer") if observation is None else _observation(observation, ())


def _head(report: Report) -> Iterator[Text]:
    verdict = Text(f"{_WORDS[report.verdict]}: ", _STYLES[report.verdict])
    yield verdict.append(_describe_counts(report.counts), "not bold default")
    if report.interrupted_by is not None:
        yield Text(f"Interrupted by {report.interrupted_by}.", "bold yellow")
    yield from describe_evidence(report.evidence, report.not_covered)
    for deviation in report.deviations:
        yield _labelled(
            "Declared deviation",
            f"{deviation.name} is {deviation.value:g}, where the contract has "
            f"{deviation.standard:g}.",
        )
    contract = report.contract
    yield _labelled("Contract", f"{contract.name} {contract.version}, {contract.digest}")
    yield _labelled("Adapter", _describe_adapter(report))
    if report.adapter.sandbox is not None:
        yield _labelled("Sandbox", _describe_sandbox(report.adapter.sandbox))


def _describe_counts(counts: Counts) -> str:
    cases = "case" if counts.planned == 1 else "cases"
    return (
        f"{counts.planned} {cases} planned: {counts.passed} passed, {counts.failed} failed, "
        f"{counts.incomplete} incomplete, {counts.not_run} not run"
    )


def _describe_adapter(report: Report) -> str:
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


def _case_line(case: CaseReport) -> Text:
    line = Text("  ")
    line.append(_WORDS[case.verdict].ljust(_WORD_WIDTH), _STYLES[case.verdict])
    line.append(f"  {case.name.ljust(_NAME_WIDTH)} {case.title}")
    if case.verdict == "fail":
        line.append(" (a write or receipt is wrong)" if _has_effect(case) else " (status only)")
    if case.failure is not None:
        line.append(f" ({case.failure.kind})")
    return line


def _has_effect(case: CaseReport) -> bool:
    return any(step.difference_class == "effect" for step in case.steps)


def _case_details(
    case: CaseReport, bundle: Bundle, repeat_command: Callable[[str], str]
) -> Iterator[RenderableType]:
    yield Text(f"{_WORDS[case.verdict]} {case.name}", _STYLES[case.verdict])
    yield _labelled("  The promise", case.promise)
    if any(step.actual is not None for step in case.steps) or _failed_step(case) is not None:
        yield _trace_table(case)
    if case.failure is not None:
        place = _describe_place(case.failure, len(case.steps))
        yield _labelled(f"  {case.failure.kind}", f"{place}: {case.failure.message}")
        if case.failure.advice:
            yield _labelled("  What to do", case.failure.advice)
    for name in case.resembles:
        yield _labelled("  Resembles", f"{name}: {bundle.fault(name).summary}")
    if case.verdict == "fail" and not case.resembles:
        yield _labelled("  Means", _meaning(case))
    yield _labelled("  Repeat it", repeat_command(case.name))


def _failed_step(case: CaseReport) -> int | None:
    return None if case.failure is None else case.failure.call.step


def _describe_place(failure: Failure, steps: int) -> str:
    if failure.call.step is None:
        return f"at `{failure.call.method}`"
    return f"at step {failure.call.step + 1} of {steps}"


def _meaning(case: CaseReport) -> str:
    if not _has_effect(case):
        return (
            "only status codes differ; what was written, and every receipt, is as promised. "
            "The service speaks another dialect."
        )
    return "what was written, or a receipt, is not as promised; no named fault looks just like it."


def _trace_table(case: CaseReport) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for header in ("    step", "operation", "expected", "observed", "differs in"):
        table.add_column(header)
    for index, step in enumerate(case.steps):
        table.add_row(
            f"    {index + 1}",
            describe_operation(step.operation),
            _observation(step.expected, ()),
            _observed(case, index),
            Text(_describe_differences(step), "bold red"),
        )
    return table


def _observed(case: CaseReport, index: int) -> Text:
    step = case.steps[index]
    if step.actual is not None:
        return _observation(step.actual, step.differences)
    if case.failure is not None and _failed_step(case) == index:
        return Text(case.failure.kind, "bold yellow")
    return Text("-", "dim")


def _describe_differences(step: StepReport) -> str:
    if step.difference_class == "status-only":
        return "status only"
    return ", ".join(step.differences)


def _observation(observation: Observation, marked: tuple[str, ...]) -> Text:
    def style(member: str) -> str:
        return "bold red" if member in marked else ""

    text = Text()
    if observation.status is None and observation.receipt is None:
        text.append("nothing", style("status") or style("receipt"))
    else:
        status = "no status" if observation.status is None else str(observation.status)
        receipt = "no receipt" if observation.receipt is None else f"receipt {observation.receipt}"
        text.append(status, style("status")).append(", ").append(receipt, style("receipt"))
    writes = observation.committed_writes
    noun = "write" if writes == 1 else "writes"
    return text.append("; ").append(f"{writes} {noun}", style("committedWrites"))


def _findings(report: Report) -> Iterator[Text]:
    diagnosis = report.diagnosis
    fault = "" if diagnosis.fault is None else f"{diagnosis.fault}. "
    yield _labelled("Diagnosis", f"{fault}{diagnosis.explanation}")
    for warning in report.warnings:
        yield _labelled("Warning", warning)


def _describe_resources(report: Report) -> str:
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


def _labelled(label: str, text: str) -> Text:
    return Text(f"{label}: ", "bold").append(text, "not bold")

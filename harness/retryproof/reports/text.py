"""The report of a run for people: the verdict first, then a line a case, then what broke."""

from collections.abc import Callable, Iterator

from retryproof_protocol.messages import Observation, Operation
from retryproof_protocol.quoting import escape_controls
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.bundle import Bundle
from ..events import Failure
from .report import CaseReport, Report, StepReport
from .run_text import (
    STYLES,
    WORDS,
    describe_findings,
    describe_head,
    describe_resources,
    labelled,
)

_WORD_WIDTH = 10
_NAME_WIDTH = 22


def render_report(
    report: Report, bundle: Bundle, repeat_command: Callable[[str], str]
) -> Iterator[RenderableType]:
    """The whole report; `repeat_command` gives the command that runs just the named case."""
    yield from describe_head(report)
    yield Text()
    for case in report.cases:
        yield _case_line(case)
    yield Text()
    yield from describe_findings(report)
    for case in report.cases:
        if case.verdict in {"fail", "incomplete"}:
            yield Text()
            yield from _case_details(case, bundle, repeat_command)
    yield Text()
    yield labelled("Resources", describe_resources(report))


def describe_operation(operation: Operation) -> str:
    """An operation in words."""
    lost = ", lost" if operation.delivery == "lost" else ""
    return f"tick {operation.at}: key {operation.key}, body {operation.value}{lost}"


def describe_observation(observation: Observation | None) -> Text:
    """An observation in words."""
    return Text("no answer") if observation is None else _observation(observation, ())


def _case_line(case: CaseReport) -> Text:
    line = Text("  ")
    line.append(WORDS[case.verdict].ljust(_WORD_WIDTH), STYLES[case.verdict])
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
    yield Text(f"{WORDS[case.verdict]} {case.name}", STYLES[case.verdict])
    yield labelled("  The promise", case.promise)
    if any(step.actual is not None for step in case.steps) or _failed_step(case) is not None:
        yield _trace_table(case)
    if case.failure is not None:
        place = _describe_place(case.failure, len(case.steps))
        yield labelled(f"  {case.failure.kind}", f"{place}: {case.failure.message}")
        if case.failure.advice:
            yield labelled("  What to do", case.failure.advice)
    for name in case.resembles:
        yield labelled("  Resembles", f"{name}: {bundle.fault(name).summary}")
    if case.verdict == "fail" and not case.resembles:
        yield labelled("  Means", _meaning(case))
    yield labelled("  Repeat it", escape_controls(repeat_command(case.name)))


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

"""The answers of `check`, `reduce` and `compare` for people."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.artifacts import Artifact, Problem
from ..contract.check import CheckReport, ComparedStep
from ..contract.compare import CompareReport
from ..contract.reduce import ReduceReport
from .run_text import describe_evidence
from .text import describe_observation, describe_operation


def render_check(report: CheckReport) -> Iterator[RenderableType]:
    """Accepted or not, and both models' traces side by side."""
    yield _verdict(report.valid, report.accepted)
    yield from describe_evidence(report.evidence, report.not_covered)
    yield from _problems(report.errors)
    if report.artifact is None:
        return
    yield Text(f"Target: {report.artifact.target}; {report.normalized_bytes} bytes in normal form")
    yield Text(f"Digest: {report.digest}")
    yield Text()
    yield _trace_table(report.steps, report.artifact.target)
    yield Text()
    yield Text(_describe_outcome(report))


def render_reduce(report: ReduceReport) -> Iterator[RenderableType]:
    """Each reduction as the compact JSON that can be checked again."""
    yield _verdict(report.valid, report.accepted)
    yield from describe_evidence(report.evidence, report.not_covered)
    yield from _problems(report.errors)
    if not report.accepted:
        return
    yield Text()
    if report.deletion_minimal:
        yield Text(
            "Deletion-minimal: no single operation can be removed. (That does not prove it the "
            "shortest.)"
        )
    for reduction in report.reductions:
        yield Text(f"Without steps[{reduction.removed}]: {_compact(reduction.artifact)}")
    if isinstance(report.minimal, tuple):
        yield Text()
        for artifact in report.minimal:
            noun = "operation" if len(artifact.steps) == 1 else "operations"
            yield Text(f"Deletion-minimal, {len(artifact.steps)} {noun}: {_compact(artifact)}")


def render_compare(report: CompareReport) -> Iterator[RenderableType]:
    """Yes or no, and why."""
    if report.strict_ordered_reduction:
        yield Text("Yes: a strict ordered reduction.", "bold green")
    else:
        yield Text("No: not a strict ordered reduction.", "bold red")
    yield Text(report.reason)
    yield from describe_evidence(report.evidence, report.not_covered)
    yield from _problems(report.errors.parent, "parent: ")
    yield from _problems(report.errors.candidate, "candidate: ")


def _verdict(valid: bool, accepted: bool) -> Text:
    if not valid:
        return Text("REFUSED: not a valid artifact", "bold red")
    if not accepted:
        return Text("NOT ACCEPTED: the named fault and the reference agree throughout", "bold red")
    return Text("ACCEPTED: the named fault differs from the reference", "bold green")


def _problems(problems: Sequence[Problem], prefix: str = "") -> Iterator[Text]:
    for problem in problems:
        yield Text(f"  {prefix}{problem.path or 'the file'} {problem.message}")


def _trace_table(steps: Sequence[ComparedStep], target: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for header in ("", "operation", "reference", target, "differs in"):
        table.add_column(header)
    for index, step in enumerate(steps):
        table.add_row(
            f"steps[{index}]",
            describe_operation(step.operation),
            describe_observation(step.reference),
            describe_observation(step.fault),
            Text(", ".join(step.differences), "bold red"),
        )
    return table


def _describe_outcome(report: CheckReport) -> str:
    if not report.accepted:
        return "Add an operation in which the two would differ, or name another target."
    first = f"First difference at steps[{report.first_difference}]."
    if report.deletion_minimal:
        return f"{first} Deletion-minimal: no single operation can be removed."
    indexes = ", ".join(map(str, report.reductions))
    return f"{first} It can do without any one of the steps {indexes}: see `retryproof reduce`."


def _compact(artifact: Artifact) -> str:
    return msgspec.json.encode(artifact).decode()

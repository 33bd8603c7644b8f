"""The report of the suite retryfuse for people: the verdict, a line a category, what failed."""

from collections.abc import Callable, Iterator

from retryproof_protocol.quoting import escape_controls
from rich.console import RenderableType
from rich.text import Text

from ..fuse.faults import FAULTS
from ..fuse.matrix import Answered
from .fuse_report import CategoryReport, FuseCaseReport, FuseReport, Unsent
from .report import Counts
from .run_text import (
    STYLES,
    WORDS,
    describe_counts,
    describe_findings,
    describe_head,
    describe_resources,
    labelled,
)

_WORD_WIDTH = 10
_NAME_WIDTH = 12
_SHOWN_REFUSAL_CHARACTERS = 200


def render_fuse_report(
    report: FuseReport, repeat_command: Callable[[str], str]
) -> Iterator[RenderableType]:
    """The whole report; `repeat_command` gives the command that runs just the named case."""
    yield from describe_head(report)
    yield labelled("Not sent", _describe_unsent(report.unsent))
    yield Text()
    for category in report.categories:
        yield _category_line(category)
    yield Text()
    yield from describe_findings(report)
    for case in report.cases:
        if case.verdict in {"fail", "incomplete"}:
            yield Text()
            yield from _case_details(case, repeat_command)
    yield Text()
    yield labelled("Resources", describe_resources(report))


def _describe_unsent(unsent: Unsent) -> str:
    return f"{len(unsent.cases)} further cases of the matrix. {unsent.reason}"


def _category_line(category: CategoryReport) -> Text:
    verdict = _worst(category.counts)
    line = Text("  ").append(WORDS[verdict].ljust(_WORD_WIDTH), STYLES[verdict])
    return line.append(f"  {category.name.ljust(_NAME_WIDTH)}  {describe_counts(category.counts)}")


def _worst(counts: Counts) -> str:
    if counts.failed:
        return "fail"
    if counts.incomplete:
        return "incomplete"
    return "not-run" if counts.not_run else "pass"


def _case_details(
    case: FuseCaseReport, repeat_command: Callable[[str], str]
) -> Iterator[RenderableType]:
    title = f"{WORDS[case.verdict]} {case.name} ({case.category})"
    yield Text(title, STYLES[case.verdict])
    yield labelled("  The input", escape_controls(case.about))
    yield labelled("  Expected", _describe_answer(case.expected, None))
    if case.actual is not None:
        yield labelled("  Observed", _describe_answer(case.actual, case.refusal))
    yield labelled("  Why", escape_controls(case.why))
    if case.failure is not None:
        failure = case.failure
        yield labelled(f"  {failure.kind}", f"at `{failure.call.method}`: {failure.message}")
        if failure.advice:
            yield labelled("  What to do", failure.advice)
    else:
        yield labelled("  The advice", case.advice)
    for name in case.resembles:
        yield labelled("  Resembles", f"{name}: {FAULTS[name].summary}")
    yield labelled("  Repeat it", escape_controls(repeat_command(case.name)))


def _describe_answer(answer: Answered, refusal: str | None) -> str:
    if answer.decision is not None:
        return f"{answer.decision} ({answer.status})"
    if refusal is None:
        return "refused, with a JSON-RPC error"
    shown = escape_controls(refusal[:_SHOWN_REFUSAL_CHARACTERS])
    return f"refused: {shown}{'...' if len(refusal) > _SHOWN_REFUSAL_CHARACTERS else ''}"

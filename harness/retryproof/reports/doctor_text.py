"""The report of `doctor` for people: the verdict first, then a line a check."""

from collections.abc import Iterator

from rich.text import Text

from .doctor import CheckReport, DoctorReport
from .run_text import describe_command

_STYLES = {"pass": "green", "fail": "bold red", "not-checked": "dim"}
_WORDS = {"pass": "pass", "fail": "FAIL", "not-checked": "not checked"}
_WORD_WIDTH = 11
_ID_WIDTH = 11
_INDENT = " " * (2 + _WORD_WIDTH + 2 + _ID_WIDTH + 2)


def render_doctor(report: DoctorReport, run_command: str) -> Iterator[Text]:
    """The whole report; `run_command` is what to do next with an adapter that is well."""
    yield _verdict(report)
    if report.interrupted_by is not None:
        yield Text(f"Interrupted by {report.interrupted_by}.", "bold yellow")
    yield _labelled(
        "Evidence",
        "protocol: how this adapter speaks; what its service does is for `retryproof run` to tell.",
    )
    adapter = report.adapter
    yield _labelled("Adapter", describe_command(adapter.command, adapter.host, adapter.cwd))
    yield Text()
    for check in report.checks:
        yield from _check_lines(check)
    if report.verdict == "pass":
        yield Text()
        yield _labelled("Next", run_command)


def _verdict(report: DoctorReport) -> Text:
    counts = report.counts
    if report.verdict == "pass":
        return Text("pass: ", "green").append(
            f"this adapter is well; all {counts.planned} checks hold", "default"
        )
    parts = [f"{counts.failed} of {counts.planned} checks failed"]
    if counts.not_checked:
        parts.append(f"{counts.not_checked} could not be made")
    word = Text("FAIL: ", "bold red") if counts.failed else Text("INCOMPLETE: ", "bold yellow")
    return word.append(", ".join(parts), "not bold default")


def _check_lines(check: CheckReport) -> Iterator[Text]:
    line = Text("  ")
    line.append(_WORDS[check.verdict].ljust(_WORD_WIDTH), _STYLES[check.verdict])
    yield line.append(f"  {check.id.ljust(_ID_WIDTH)}  {check.seen}")
    if check.mend is not None:
        yield Text(_INDENT).append("Mend: ", "bold").append(check.mend, "not bold")


def _labelled(label: str, text: str) -> Text:
    return Text(f"{label}: ", "bold").append(text, "not bold")

"""Runs and the daemon as their clients show them. Pure: the time and the zone are given."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct
from retryproof_protocol.quoting import escape_controls
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..api.views import OVER, DaemonStatus, RunPage, RunView
from ..reports.run_text import STYLES, WORDS, describe_counts, labelled
from .submitting import Unfinished

_NARROWEST = {"created": 100, "suite": 120, "client": 140}
"""From how many of a terminal's columns on these are shown; the others always are."""
_STATE_STYLES = {"queued": "dim", "running": "cyan", "cancelled": "yellow", "interrupted": "yellow"}
_FOLDED = {"client", "adapter"}
_GAP = 2


class Watch(Struct, frozen=True):
    """What time it is, and the zone to show times in; None is the machine's own."""

    now: datetime
    zone: tzinfo | None = None

    def local(self, time: str) -> str:
        """A time of the daemon's, as a person here writes it."""
        return datetime.fromisoformat(time).astimezone(self.zone).strftime("%Y-%m-%d %H:%M:%S")

    def took(self, run: RunView) -> str:
        """How long the run has been going on, or went on."""
        if run.started_at is None:
            return "-"
        started = datetime.fromisoformat(run.started_at)
        ended = self.now if run.ended_at is None else datetime.fromisoformat(run.ended_at)
        return _duration(max((ended - started).total_seconds(), 0.0))


def render_page(
    page: RunPage, watch: Watch, terminal_width: int | None
) -> Iterator[RenderableType]:
    """A table of runs; without a terminal, lines that are never cut."""
    if not page.runs:
        yield Text("There are no such runs." if page.total == 0 else "There are no more runs.")
        return
    rows = [_row(run, watch) for run in page.runs]
    if terminal_width is None:
        yield from _lines(rows)
    else:
        yield _table(rows, terminal_width)
    if page.next is not None:
        yield Text(
            f"{len(page.runs)} of {page.total:,} runs. For the next ones, the same command with "
            f"--cursor {page.next}"
        )


def describe_end(run: RunView) -> Text:
    """What became of a run that is over, in a line."""
    state = "" if run.state == "finished" else f"{run.state}: "
    if run.verdict is None:
        return Text(f"{state}it never began", _STATE_STYLES.get(run.state, ""))
    line = Text(state, _STATE_STYLES.get(run.state, ""))
    line.append(WORDS[run.verdict], STYLES[run.verdict])
    return line if run.counts is None else line.append(f": {describe_counts(run.counts)}")


def describe_state(run: RunView, watch: Watch) -> Iterator[Text]:
    """A run that has no report, and how to go on."""
    if run.state in OVER:
        why = "before it began" if run.started_at is None else "before anything was observed"
        yield Text(f"The run {run.id} was {run.state} {why}: there is no report.")
    else:
        # One that is to be run again has been started before.
        began = run.started_at if run.state == "running" else None
        since = watch.local(began or run.created_at)
        yield Text(f"The run {run.id} has been {run.state} since {since}.")
        yield Text(f"Follow it: retryproof logs -f {run.id}")


def describe_submitted(run: RunView) -> Iterator[Text]:
    """The answer to a submission, and how to go on."""
    yield Text(f"Submitted: {run.id} ({run.state})")
    yield Text(f"Follow it:  retryproof logs -f {run.id}")
    yield Text(f"Its report: retryproof show {run.id}")


def describe_cancelled(run: RunView) -> Iterator[Text]:
    """What became of the wish to have a run cancelled."""
    if run.state == "cancelled":
        when = " before it began" if run.started_at is None else ""
        yield Text(f"The run {run.id} is cancelled{when}.")
    elif run.state in OVER:
        yield Text(f"The run {run.id} had ended already: ").append_text(describe_end(run))
    else:
        yield Text(f"The run {run.id} is being cancelled: its adapter is killed.")
        yield Text(f"What it had found: retryproof show {run.id}")


def render_status(
    socket: str, status: DaemonStatus | None, unfinished: Sequence[Unfinished], watch: Watch
) -> Iterator[Text]:
    """The daemon, and the submissions whose answer is not in."""
    if status is not None:
        yield _readiness(status)
        yield labelled("Socket", escape_controls(socket))
        yield labelled("Process", f"{status.pid}, retryproof {status.version}")
        yield labelled(
            "Runs",
            f"{status.running} running of {status.jobs} at a time, {status.queued} queued of "
            f"{status.max_queued:,}",
        )
    for submission in unfinished:
        yield Text()
        yield from _describe_unfinished(submission, watch)


def _readiness(status: DaemonStatus) -> Text:
    if status.ready:
        return Text("ready", STYLES["pass"])
    return Text("NOT READY", STYLES["fail"]).append(
        f": {escape_controls(status.problem or 'it does not say why.')}", "not bold default"
    )


def _describe_unfinished(unfinished: Unfinished, watch: Watch) -> Iterator[Text]:
    record = unfinished.record
    count = len(record.attempts)
    attempts = "1 attempt" if count == 1 else f"{count} attempts"
    yield Text("Unfinished submission", "bold yellow").append(
        f" of {watch.local(record.created_at)}, {attempts}", "not bold default"
    )
    problem = record.attempts[-1].problem if record.attempts else ""
    yield labelled("  The last one", escape_controls(problem) or "no end of it is recorded.")
    yield labelled("  Was it taken", f"retryproof runs --key {record.key}")
    yield labelled("  Then forget it", escape_controls(f"rm {shlex.quote(unfinished.file)}"))


def _row(run: RunView, watch: Watch) -> dict[str, Text]:
    verdict = Text("-", "dim")
    if run.verdict is not None:
        verdict = Text(WORDS[run.verdict], STYLES[run.verdict])
    return {
        "id": Text(run.id),
        "state": Text(run.state, _STATE_STYLES.get(run.state, "")),
        "verdict": verdict,
        "created": Text(watch.local(run.created_at)),
        "took": Text(watch.took(run)),
        "suite": Text(run.suite),
        "client": Text(escape_controls(run.client) or "-"),
        "adapter": Text(escape_controls(run.adapter)),
    }


def _table(rows: Sequence[dict[str, Text]], width: int) -> Table:
    headers = [header for header in rows[0] if width >= _NARROWEST.get(header, 0)]
    table = Table(box=None, padding=(0, _GAP, 0, 0), header_style="dim", pad_edge=False)
    for header in headers:
        table.add_column(header, no_wrap=header not in _FOLDED, overflow="fold")
    for row in rows:
        table.add_row(*(row[header] for header in headers))
    return table


def _lines(rows: Sequence[dict[str, Text]]) -> Iterator[Text]:
    shown = [tuple(map(Text, rows[0])), *(tuple(row.values()) for row in rows)]
    widths = [max(cell.cell_len for cell in column) + _GAP for column in zip(*shown, strict=True)]
    for row in shown:
        line = Text()
        for cell, width in zip(row, widths, strict=True):
            line.append_text(cell).append(" " * (width - cell.cell_len))
        line.rstrip()
        yield line


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"

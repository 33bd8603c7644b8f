"""What the commands about runs print, to the letter: see tests/golden_files.py."""

import io
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import msgspec
import pytest
from retryproof.api.views import DaemonStatus, RunPage
from retryproof.client.run_views import (
    Watch,
    describe_cancelled,
    describe_end,
    describe_state,
    describe_submitted,
    render_page,
    render_status,
)
from retryproof.client.submitting import RecordedAttempt, SubmissionRecord, Unfinished
from rich.console import Console, RenderableType

from tests.client.views import CUT_SHORT, ENDED, FAILED, PASSED, STARTED, view
from tests.golden_files import FOLDER, assert_golden, rendered

WATCH = Watch(datetime(2030, 1, 2, 4, 5, 6, tzinfo=UTC), timezone(timedelta(hours=1)))
RUNS = (
    view(),
    view(id="aa01", state="running", **STARTED, adapter="java -jar 'shop adapter.jar'"),
    view(id="aa02", **PASSED, suite="retryfuse", client=""),
    view(id="aa03", **FAILED, client="/somewhere/else"),
    view(id="aa04", state="cancelled", **CUT_SHORT, adapter="/project/" + "long/" * 12 + "a.py"),
    view(id="aa05", state="cancelled"),
    view(id="aa06", state="interrupted", **CUT_SHORT),
)
STATUS = DaemonStatus(
    ready=True,
    problem=None,
    version="0.1.0",
    pid=1234,
    jobs=4,
    queued=17,
    running=4,
    max_queued=1000,
)
KEY = "9f1c3a5e7b9d4f60813254769a8bccee"
IN_DOUBT = Unfinished(
    f"/home/me/.local/state/retryproof/submissions/{KEY}.json",
    SubmissionRecord(
        KEY,
        "ab" * 32,
        "2030-01-02T03:04:05.678+00:00",
        "/run/user/1000/retryproof/retryproof.sock",
        (
            RecordedAttempt("2030-01-02T03:04:05.679+00:00", "failure", "pre_write", "No daemon."),
            RecordedAttempt(
                "2030-01-02T03:04:05.779+00:00",
                "failure",
                "unknown",
                "The daemon broke off before its answer was in.",
            ),
        ),
    ),
)
ON_ITS_WAY = Unfinished(
    "/a folder/1.json",
    SubmissionRecord("1", "ab" * 32, "2030-01-02T03:04:05.678+00:00", "/s", (RecordedAttempt(""),)),
)


def on_a_terminal(renderables: Iterable[RenderableType], width: int) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, force_terminal=True)
    for renderable in renderables:
        console.print(renderable)
    return file.getvalue()


def several(describe: Callable[..., Iterable[RenderableType]], *rest: object) -> str:
    return "\n".join(rendered(describe(run, *rest)) for run in RUNS)


def on_a_terminal_of(width: int) -> str:
    return on_a_terminal(render_page(RunPage(RUNS, 7, None), WATCH, width), width)


SOCKET = "/run/user/1000/retryproof/retryproof.sock"
NOT_READY = msgspec.structs.replace(STATUS, ready=False, problem="The database is locked.")
TEXTS: dict[str, Callable[[], str]] = {
    "runs": lambda: rendered(render_page(RunPage(RUNS, 1234, "77"), WATCH, None)),
    **{f"runs-{width}": partial(on_a_terminal_of, width) for width in (160, 120, 80)},
    "runs-none": lambda: (
        rendered(render_page(RunPage((), 0, None), WATCH, None))
        + rendered(render_page(RunPage((), 3, None), WATCH, None))
    ),
    "submitted": lambda: rendered(describe_submitted(view())),
    "state": lambda: several(describe_state, WATCH),
    "cancelled": lambda: several(describe_cancelled),
    "end": lambda: rendered(map(describe_end, RUNS[2:])),
    "status-ready": lambda: rendered(render_status(SOCKET, STATUS, (), WATCH)),
    "status-not-ready": lambda: rendered(render_status(SOCKET, NOT_READY, (), WATCH)),
    "status-unfinished": lambda: rendered(
        render_status(SOCKET, STATUS, (IN_DOUBT, ON_ITS_WAY), WATCH)
    ),
    "status-no-daemon": lambda: rendered(render_status(SOCKET, None, (IN_DOUBT,), WATCH)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_reads_as_before(name: str) -> None:
    assert_golden(f"client/{name}.txt", TEXTS[name]())


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in (FOLDER / "client").glob("*.txt")} == set(TEXTS)


def test_no_line_is_cut_without_a_terminal() -> None:
    adapter = "/" + "x" * 500
    text = rendered(render_page(RunPage((view(adapter=adapter),), 1, None), WATCH, None))
    assert adapter in text
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("width", [None, 200])
def test_control_characters_never_reach_the_terminal_raw(width: int | None) -> None:
    run = view(adapter="/a\x1b[31m\u202e.py", client="/\x07")
    text = on_a_terminal(render_page(RunPage((run,), 1, None), WATCH, width), 200)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "\\x1b[31m\\u202e" in text


@pytest.mark.parametrize(
    ("ended_at", "words"),
    [
        ("2030-01-02T03:04:06.049+00:00", "0.0 s"),
        ("2030-01-02T03:05:05.900+00:00", "59.9 s"),
        ("2030-01-02T03:05:06.000+00:00", "1:00 min"),
        ("2030-01-02T04:04:05.700+00:00", "1:00:00 h"),
        ("2030-01-02T03:00:00.000+00:00", "0.0 s"),
        (None, "1:01:00 h"),
    ],
)
def test_how_long_a_run_took(ended_at: str | None, words: str) -> None:
    assert WATCH.took(view(**{**ENDED, "ended_at": ended_at})) == words

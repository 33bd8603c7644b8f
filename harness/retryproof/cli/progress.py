"""What runs right now, on a terminal: the case, the step, and how long the call has taken."""

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..events import CallReturned, CallStarted, CaseStarted, Event, RunStarted, WaitStarted

_REFRESHES_PER_SECOND = 10


class Progress:
    """A sink that draws one line, refreshed by rich's own thread; gone when the run has ended."""

    def __init__(self, console: Console, doing: str = "starting") -> None:
        """`doing` is what is done before the first event."""
        self._planned: tuple[str, ...] = ()
        self._case: str | None = None
        self._doing = doing
        self._since = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> "Progress":
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Takes the next event."""
        match event:
            case RunStarted(cases=cases):
                self._planned = tuple(case.name for case in cases)
                self._case = None
                self._now_doing("starting")
            case CaseStarted(case=name):
                self._case = name
            case CallStarted(call=call):
                step = "" if call.step is None else f" {call.step + 1}"
                self._now_doing(f"{call.method}{step}")
            case WaitStarted(seconds=seconds):
                self._now_doing(f"waiting {seconds:.1f} s for the next tick")
            case CallReturned():
                self._now_doing("between calls")

    def _now_doing(self, what: str) -> None:
        self._doing, self._since = what, time.monotonic()

    def _render(self) -> Text:
        elapsed = time.monotonic() - self._since
        place = "adapter"
        if self._case is not None:
            number = self._planned.index(self._case) + 1
            place = f"case {number} of {len(self._planned)}, {self._case}"
        return Text(f"{place}: {self._doing} ({elapsed:.1f} s)", "cyan")

"""What the daemon answers."""

from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from ..reports.report import Counts, Verdict
from .submission import OnInterrupt, SuiteName

RunState: TypeAlias = Literal["queued", "running", "finished", "cancelled", "interrupted"]
"""`finished`: driven to its end, whatever the verdict. `interrupted`: the daemon ended first."""
OVER: tuple[RunState, ...] = ("finished", "cancelled", "interrupted")


class RunView(Struct, frozen=True, rename="camel"):
    """A run, without its report; `adapter` is its command line or file.

    Times are in ISO 8601, UTC. What is not known yet is null.
    """

    id: str
    state: RunState
    suite: SuiteName
    adapter: str
    client: str
    idempotency_key: str | None
    on_interrupt: OnInterrupt
    created_at: str
    started_at: str | None
    ended_at: str | None
    verdict: Verdict | None
    exit_status: int | None
    counts: Counts | None


class RunWithReport(RunView, frozen=True):
    """A run, with its report once it has ended."""

    report: Raw


class RunPage(Struct, frozen=True):
    """Runs, the newest first.

    `total` counts all that the filters let through; `next` is the cursor for the page after this
    one, null on the last.
    """

    runs: tuple[RunView, ...]
    total: int
    next: str | None


class NamedCase(Struct, frozen=True):
    """A case in an event of a run: its report has the rest."""

    name: str


class Comparison(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /v1/compare`: two artifacts, or submission wrappers."""

    parent: Any
    candidate: Any


class DaemonStatus(Struct, frozen=True, rename="camel"):
    """How the daemon is. `problem` says why it takes no runs; null if it does."""

    ready: bool
    problem: str | None
    version: str
    pid: int
    jobs: int
    queued: int
    running: int
    max_queued: int


class Health(Struct, frozen=True):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ProblemDetail(Struct, frozen=True):
    """What is wrong: a code for programs, a message for people, and the place in the body."""

    code: str
    message: str
    path: str = ""


class ProblemBody(Struct, frozen=True):
    """Every answer from 400 on."""

    error: ProblemDetail

"""The report of a run: schema retryproof.report/1. Its JSON form is these types as they are."""

from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from retryproof_protocol.messages import Observation, Operation

from ..contract.diagnosis import Diagnosis
from ..contract.differences import Difference, DifferenceClass
from ..events import Evidence, Failure, LimitsDescription, Load, SandboxDescription

Verdict: TypeAlias = Literal["pass", "fail", "incomplete"]
CaseVerdict: TypeAlias = Literal["pass", "fail", "incomplete", "not-run"]


class ReportedContract(Struct, frozen=True):
    """Which contract was tested; the digest is of the whole bundle."""

    name: str
    version: int
    digest: str


class ReportedAdapter(Struct, frozen=True, rename="camel"):
    """Which adapter was driven, and how it was started."""

    command: tuple[str, ...]
    host: str | None
    cwd: str
    added_environment: tuple[str, ...]
    sandbox: SandboxDescription | None = None
    name: str | None = None
    version: str | None = None
    language: str | None = None
    protocol_version: int | None = None
    seconds_per_tick: float | None = None


class Counts(Struct, frozen=True, rename="camel"):
    """`planned` is always the sum of the others."""

    planned: int
    passed: int
    failed: int
    incomplete: int
    not_run: int


class StepReport(
    Struct, frozen=True, rename={"difference_class": "class", "elapsed_ms": "elapsedMs"}
):
    """One operation, expected beside actual; `actual` is null if no usable answer came."""

    operation: Operation
    expected: Observation
    actual: Observation | None
    differences: tuple[Difference, ...]
    difference_class: DifferenceClass | None
    elapsed_ms: float | None


class CaseReport(Struct, frozen=True):
    """One planned case."""

    name: str
    title: str
    promise: str
    verdict: CaseVerdict
    steps: tuple[StepReport, ...]
    failure: Failure | None
    resembles: tuple[str, ...]


class Latency(Struct, frozen=True):
    """Milliseconds from writing a request until its whole answer, over `reset` and `step`."""

    p50: float
    p99: float
    max: float


class Resources(Struct, frozen=True, rename="camel"):
    """What the run took.

    `calls` counts requests but `initialize` and `shutdown`, answered or not.
    `processes_spawned` counts launches of the adapter, `processes_leaked` the processes beside
    its first one that had to be killed. `overshoot_ms` is how long past its deadline the latest
    call was cut, if any was; `peak_rss_bytes` is of the whole tree.
    """

    calls: int
    latency_ms: Latency | None
    peak_rss_bytes: int
    cpu_seconds: float
    processes_spawned: int
    processes_leaked: int
    overshoot_ms: float | None
    load_before: Load
    load_after: Load


DeviationValue: TypeAlias = bool | float | Literal["same"] | tuple[int, ...]
"""Of the call limit seconds; of a profile's keys whether, "same", or codes."""


class Deviation(Struct, frozen=True):
    """In what this run departs from the contract's own terms, as declared by its user."""

    name: str
    value: DeviationValue
    standard: DeviationValue


_CaseReport = TypeVar("_CaseReport")


class RunReport(Struct, Generic[_CaseReport], frozen=True, rename="camel"):
    """Everything that a run of any suite found out."""

    schema: str
    evidence: Evidence
    not_covered: tuple[str, ...]
    contract: ReportedContract
    profile: str
    deviations: tuple[Deviation, ...]
    verdict: Verdict
    exit_status: int
    interrupted_by: str | None
    adapter: ReportedAdapter
    containment: Literal["guard", "group", "bwrap"] | None
    limits: LimitsDescription
    counts: Counts
    cases: tuple[_CaseReport, ...]
    diagnosis: Diagnosis
    warnings: tuple[str, ...]
    stderr_tail: str
    resources: Resources
    started_at: str
    elapsed_ms: float
    retryproof: str
    platform: dict[str, Any]


class Report(RunReport[CaseReport], frozen=True):
    """The report of the retry suite."""

    schema: Literal["retryproof.report/1"]

"""What happened in a run, as facts with times. Reports, progress and stores are made from these.

`at` is in seconds since the run started.
"""

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from retryproof_protocol.messages import (
    AdapterIdentity,
    ContractReference,
    Method,
    Observation,
)

from .contract.profile import SEED, Profile
from .errors import FailureKind
from .fuse.matrix import Answered

_Case = TypeVar("_Case")

Evidence: TypeAlias = Literal["self-test", "adapter", "reference-comparison"]
"""What a report is proof of."""


class SandboxDescription(Struct, frozen=True, rename="camel"):
    """What a sandboxed adapter was allowed."""

    network: bool
    writable: tuple[str, ...]


class LimitsDescription(Struct, frozen=True, rename="camel"):
    """The bounds that were in force."""

    startup_seconds: float
    call_seconds: float
    memory_bytes: int
    processes: int
    output_bytes: int
    open_files: int


class AdapterDescription(Struct, frozen=True, rename="camel"):
    """How the adapter is started. Of added variables the names are kept, never the values."""

    command: tuple[str, ...]
    host: str | None
    cwd: str
    added_environment: tuple[str, ...]
    sandbox: SandboxDescription | None


class Load(Struct, frozen=True, rename="camel"):
    """How busy the machine is: runnable processes over the last minute, per processor."""

    average: float
    processors: int


class Call(Struct, frozen=True):
    """One request to the adapter; `step` is the index of the case's operation."""

    method: Method
    step: int | None = None


class Failure(Struct, frozen=True, rename="camel"):
    """Why a call has no usable answer. `definite`: it is certain that the call had no effect."""

    kind: FailureKind
    call: Call
    message: str
    advice: str
    definite: bool
    elapsed_ms: float


class Evaluated(Struct, frozen=True):
    """What `evaluate` was answered; `refusal` is the error's message, if it was one."""

    answer: Answered
    refusal: str | None = None


class RunStarted(Struct, Generic[_Case], frozen=True, tag=True):
    """The plan: all that the report needs to account for every case of one suite.

    `retryproof` is the version that drives, `platform` what it runs on.
    """

    at: float
    started_at: str
    contract: ContractReference
    contract_digest: str
    cases: tuple[_Case, ...]
    adapter: AdapterDescription
    limits: LimitsDescription
    load: Load
    evidence: Evidence
    retryproof: str
    platform: dict[str, str]
    profile: Profile = SEED


class AdapterLaunched(Struct, frozen=True, tag=True):
    """A process was started; `containment` names the guarantee that nothing of it stays."""

    at: float
    containment: Literal["guard", "group", "bwrap"]


class AdapterInitialized(Struct, frozen=True, tag=True):
    """The adapter said who it is."""

    at: float
    adapter: AdapterIdentity
    protocol_version: int
    seconds_per_tick: float | None


class CaseStarted(Struct, frozen=True, tag=True):
    """The calls that follow belong to this case."""

    at: float
    case: str


class WaitStarted(Struct, frozen=True, tag=True):
    """Real-time pacing: the next step is due in so many seconds."""

    at: float
    seconds: float


class CallStarted(Struct, frozen=True, tag=True):
    """A request is about to be written."""

    at: float
    call: Call


class CallReturned(Struct, frozen=True, tag=True):
    """A usable answer arrived; with what it says if it was to `step` or `evaluate`."""

    at: float
    call: Call
    elapsed_seconds: float
    observation: Observation | None = None
    evaluation: Evaluated | None = None


class CallFailed(Struct, frozen=True, tag=True):
    """There was no usable answer."""

    at: float
    failure: Failure


class AdapterGone(Struct, frozen=True, tag=True):
    """No process of the adapter is left; `warning` if it did not leave as it should have."""

    at: float
    status: int | None
    strays: int
    stray_commands: tuple[str, ...]
    cpu_seconds: float
    peak_rss_bytes: int
    stderr_tail: str
    warnings: tuple[str, ...]


class RunEnded(Struct, frozen=True, tag=True):
    """Nothing follows. `interrupted_by` names the signal that cut the run short."""

    at: float
    load: Load
    interrupted_by: str | None = None


Event: TypeAlias = (
    RunStarted[Any]
    | AdapterLaunched
    | AdapterInitialized
    | CaseStarted
    | WaitStarted
    | CallStarted
    | CallReturned
    | CallFailed
    | AdapterGone
    | RunEnded
)
Sink: TypeAlias = Callable[[Event], None]
"""Takes each event as it happens, in the thread that runs the case: it must be quick."""

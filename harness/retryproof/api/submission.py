"""A run that is asked for: the body of `POST /v1/runs`."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field

from ..supervise.limits import Limits
from .reading import ABSOLUTE_PATH, ARGUMENT, VARIABLE_NAME

MAX_LIMIT_SECONDS = 3600.0
MAX_CLIENT_CHARACTERS = 200
_USUAL = Limits()

SuiteName: TypeAlias = Literal["retry", "retryfuse"]
OnInterrupt: TypeAlias = Literal["end", "rerun"]
_Argument: TypeAlias = Annotated[str, Meta(pattern=ARGUMENT)]
_Path: TypeAlias = Annotated[str, Meta(pattern=ABSOLUTE_PATH)]
_Variables: TypeAlias = dict[Annotated[str, Meta(pattern=VARIABLE_NAME)], _Argument]
_Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=MAX_LIMIT_SECONDS)]
_AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1, le=2**53)]


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    pass


class SandboxSubmission(_Part, frozen=True):
    """The adapter runs under bubblewrap, allowed no more than this."""

    allow_network: bool = False
    writable: tuple[_Path, ...] = ()


class AdapterSubmission(_Part, frozen=True):
    """Which adapter, by exactly one of `module`, `command` and `http`, and where it runs.

    Attributes:
        module: a file for one of the bundled hosts.
        command: a program that speaks the adapter protocol, and its arguments.
        http: a SERVICE.toml.
        python: the interpreter for a Python module. Left out: the daemon's choice.
        cwd: the folder of a module or a command, which needs one.
        environment: variables that are added; reports have their names.
        inherited: the caller's own values for variables of the short list that every adapter
            gets, such as PATH. Left out: the daemon's.
        sandbox: left out, there is none.

    Raises:
        ValueError: the parts contradict each other.
    """

    module: _Path | None = None
    command: Annotated[tuple[_Argument, ...], Meta(min_length=1)] | None = None
    http: _Path | None = None
    python: _Path | None = None
    cwd: _Path | None = None
    environment: _Variables = field(default_factory=dict)
    inherited: _Variables | None = None
    sandbox: SandboxSubmission | None = None

    def __post_init__(self) -> None:
        if [self.module, self.command, self.http].count(None) != 2:
            raise ValueError("Exactly one of module, command and http names an adapter")
        if (self.http is None) == (self.cwd is None):
            raise ValueError("A module or a command has a cwd; an http service runs in its file's")
        if self.python is not None and self.module is None:
            raise ValueError("A python is for a module")


class LimitsSubmission(_Part, frozen=True):
    """The adapter's bounds; what is left out is as usual."""

    startup_seconds: _Seconds = _USUAL.startup_seconds
    call_seconds: _Seconds = _USUAL.call_seconds
    memory_bytes: _AtLeastOne = _USUAL.memory_bytes
    processes: _AtLeastOne = _USUAL.processes
    output_bytes: _AtLeastOne = _USUAL.output_bytes
    open_files: Annotated[int, Meta(ge=8, le=2**31)] = _USUAL.open_files


class RunSubmission(_Part, frozen=True):
    """A run that is asked for.

    Attributes:
        adapter: what is driven.
        suite: through which suite.
        cases: by name; none means all.
        keep_going: after a broken call, go on in a fresh process.
        profile: the name of a dialect, or one of its own: its keys as in a TOML file, and name.
        limits: the adapter's bounds.
        on_interrupt: what becomes of the run if the daemon dies in the middle of it: it ends as
            interrupted, or is run again from its beginning.
        client: who asks. Each client has its fair share of the daemon.
    """

    adapter: AdapterSubmission
    suite: SuiteName = "retry"
    cases: tuple[str, ...] = ()
    keep_going: bool = False
    profile: str | dict[str, Any] = "seed"
    limits: LimitsSubmission = LimitsSubmission()
    on_interrupt: OnInterrupt = "end"
    client: Annotated[str, Meta(max_length=MAX_CLIENT_CHARACTERS)] = ""

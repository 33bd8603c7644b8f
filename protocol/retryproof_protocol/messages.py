"""The messages of the protocol, version 1. The JSON Schemas in `protocol/spec` come from here."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

PROTOCOL_VERSION = 1
DEFAULT_CALL_TIMEOUT_MS = 2000
MAX_SECONDS_PER_TICK = 600.0
"""Beyond ten minutes a tick, one case of the contract would take over an hour of waiting."""

Method = Literal["initialize", "reset", "step", "evaluate", "shutdown"]
Letter = Literal["A", "B"]
Delivery = Literal["received", "lost"]
Tick = Annotated[int, Meta(ge=0, le=24)]
Decision = Literal["replay_safe", "replay_stored", "brake", "reconcile_required", "reject_conflict"]
DecisionStatus = Literal["pass", "fail", "unknown"]


class Message(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the wire: immutable, its members in camelCase."""


class ContractReference(Message, frozen=True):
    """Which contract the runner is going to test."""

    name: str
    version: int


class InitializeParams(Message, frozen=True):
    """What the runner says first. `call_timeout_ms` is each later call's limit."""

    contract: ContractReference
    protocol_version: int = PROTOCOL_VERSION
    call_timeout_ms: Annotated[int, Meta(gt=0)] = DEFAULT_CALL_TIMEOUT_MS


class AdapterIdentity(Message, frozen=True, forbid_unknown_fields=False):
    """Who the adapter is."""

    name: str
    version: str | None = None
    language: str | None = None


class ClockCapability(Message, frozen=True, forbid_unknown_fields=False):
    """The service has no test clock: a tick takes this long in real time."""

    seconds_per_tick: Annotated[float, Meta(gt=0, le=MAX_SECONDS_PER_TICK)]


class Capabilities(Message, frozen=True, forbid_unknown_fields=False):
    """What the adapter can't do by default or does beyond it."""

    clock: ClockCapability | None = None


class InitializeResult(Message, frozen=True, forbid_unknown_fields=False):
    """The adapter's answer to `initialize`."""

    protocol_version: int
    adapter: AdapterIdentity
    capabilities: Capabilities = Capabilities()


class Operation(Message, frozen=True):
    """The parameters of `step`: at tick `at`, send `value` under `key`."""

    at: Tick
    key: Letter
    value: Letter
    delivery: Delivery


class Observation(Message, frozen=True):
    """The result of `step`: what the caller saw, and the writes measured apart from it.

    `receipt` is the ordinal of the committed write that the answer names; `committed_writes`
    counts all writes since `reset`. A lost response has neither status nor receipt.
    """

    status: Annotated[int, Meta(ge=100, le=599)] | None
    receipt: Annotated[int, Meta(ge=1)] | None
    committed_writes: Annotated[int, Meta(ge=0)]


class Evaluation(Message, frozen=True):
    """The result of `evaluate`: may the operation be sent again, and what that means.

    An input that is malformed has none: it is refused with an error.
    """

    decision: Decision
    status: DecisionStatus


class ErrorObject(Message, frozen=True, forbid_unknown_fields=False):
    """A JSON-RPC error: the adapter's own account of why it could not answer."""

    code: int
    message: str
    data: Any = None


class Request(Message, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """A line from the runner to the adapter."""

    id: int
    method: Method
    params: Any


class ResultResponse(Message, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """A line from the adapter to the runner: the call's result."""

    id: int
    result: Any


class ErrorResponse(Message, frozen=True, tag_field="jsonrpc", tag="2.0"):
    """A line from the adapter to the runner: the call could not be done."""

    id: int
    error: ErrorObject

"""The contract as data: cases with their expected traces, rules, faults, limits, digest."""

import hashlib
from typing import Any

import msgspec
import rfc8785
from msgspec import Struct
from retryproof_protocol.messages import ContractReference, Observation, Operation

from .model import Rules


class Case(Struct, frozen=True, rename="camel"):
    """One of the contract's cases. `promise` is what a caller may rely on, in a sentence."""

    name: str
    title: str
    promise: str
    steps: tuple[Operation, ...]
    expected: tuple[Observation, ...]


class FaultDescription(Struct, frozen=True, rename="camel"):
    """A named fault, for people. `caught_by` names the cases whose trace it changes."""

    name: str
    summary: str
    explanation: str
    caught_by: tuple[str, ...]


class Mission(Struct, frozen=True, rename="camel"):
    """The rules for counterexample artifacts and their submission."""

    name: str
    version: int
    min_operations: int
    max_operations: int
    min_tick: int
    max_tick: int
    max_artifact_bytes: int
    max_submission_bytes: int


class Bundle(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All of `fixtures/contract.json`."""

    schema: str
    name: str
    version: int
    rules: Rules
    mission: Mission
    cases: tuple[Case, ...]
    faults: tuple[FaultDescription, ...]
    not_covered: tuple[str, ...]
    digest: str

    @property
    def reference(self) -> ContractReference:
        """How the protocol names this contract."""
        return ContractReference(self.name, self.version)

    def fault(self, name: str) -> FaultDescription:
        """The description of a named fault.

        Raises:
            KeyError: there is none.
        """
        return {fault.name: fault for fault in self.faults}[name]


def load_bundle(data: bytes) -> Bundle:
    """The bundle in the bytes of `fixtures/contract.json`.

    Raises:
        msgspec.DecodeError: it has another form.
    """
    return msgspec.json.decode(data, type=Bundle)


def digest_of(document: dict[str, Any]) -> str:
    """`sha256:` and the hash of the RFC 8785 form of everything but the digest itself."""
    content = {name: value for name, value in document.items() if name != "digest"}
    return "sha256:" + hashlib.sha256(rfc8785.dumps(content)).hexdigest()

"""A second formulation of the contract: no state, only questions about the list of operations.

Written from the specification's sentences, in another style than the product's model: what an
operation got is worked out from what the operations before it got.
"""

from collections.abc import Sequence
from typing import Literal

from retryproof_protocol.messages import Observation, Operation

RETENTION = 6
Deed = Literal["create", "replay", "conflict"]


def trace(operations: Sequence[Operation], fault: str | None = None) -> tuple[Observation, ...]:
    """What a caller sees of the operations, under the contract or under a named fault."""
    deeds: list[Deed] = []
    for index in range(len(operations)):
        deeds.append(_deed(operations[: index + 1], deeds, fault))
    return tuple(_observation(operations, deeds, index, fault) for index in range(len(deeds)))


def _deed(operations: Sequence[Operation], deeds: Sequence[Deed], fault: str | None) -> Deed:
    """What the last operation does, after the deeds of those before it."""
    now = operations[-1]
    creator = _creator(operations, deeds, now.key)
    if creator is None or not _is_live(operations, deeds, creator, fault):
        return "create"
    if now.value == operations[creator].value or fault == "body-blind":
        return "replay"
    return "conflict"


def _creator(operations: Sequence[Operation], deeds: Sequence[Deed], key: str) -> int | None:
    """The latest operation before that created a record for the key."""
    created = [i for i, deed in enumerate(deeds) if deed == "create" and operations[i].key == key]
    return created[-1] if created else None


def _is_live(
    operations: Sequence[Operation], deeds: Sequence[Deed], creator: int, fault: str | None
) -> bool:
    key = operations[creator].key
    uses = [
        operations[i]
        for i in range(creator, len(deeds))
        if operations[i].key == key and deeds[i] != "conflict"
    ]
    if fault == "forget-on-loss" and any(use.delivery == "lost" for use in uses):
        return False
    counted_from = uses[-1] if fault == "sliding-expiry" else uses[0]
    return operations[-1].at - counted_from.at < RETENTION


def _observation(
    operations: Sequence[Operation], deeds: Sequence[Deed], index: int, fault: str | None
) -> Observation:
    writing = {"create", "replay"} if fault == "duplicate-write" else {"create"}

    def writes_up_to(last: int) -> int:
        return sum(deed in writing for deed in deeds[: last + 1])

    writes = writes_up_to(index)
    deed = deeds[index]
    if operations[index].delivery == "lost":
        return Observation(None, None, writes)
    if deed == "conflict":
        return Observation(409, None, writes)
    if deed in writing:
        return Observation(201, writes, writes)
    creator = _creator(operations, deeds[:index], operations[index].key)
    assert creator is not None
    return Observation(200, writes_up_to(creator), writes)

"""What an Idempotency-Key means: the contract that this project tests, as a pure decision."""

from typing import Literal, TypeAlias

from msgspec import Struct

RETENTION_SECONDS = 24 * 60 * 60.0
"""From the first request with a key on; a replay does not extend it."""

Ruling: TypeAlias = Literal["create", "replay", "conflict"]


class KeyRecord(Struct, frozen=True):
    """What is remembered of a key: which run it made, of which body, and when (Unix time)."""

    fingerprint: str
    run: str
    created_at: float


def rule(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
    """What becomes of a request with this key. `now` is a Unix time.

    At its deadline or later a key is a fresh one. Before it, the same body replays the first
    answer, and another body is refused.
    """
    if record is None or now >= record.created_at + RETENTION_SECONDS:
        return "create"
    return "replay" if fingerprint == record.fingerprint else "conflict"

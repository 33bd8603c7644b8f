"""The contract a second time, written from its text alone: what is refused, and which rows apply.

It shares nothing with the product: the standard library reads, a list of rules refuses, and the
decision is a chain of questions in place of a table.
"""

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import rfc8785

DECISION_OF_ROW = {
    1: "reject_conflict",
    2: "replay_stored",
    3: "brake",
    4: "reconcile_required",
    5: "reconcile_required",
    6: "brake",
    7: "brake",
    8: "replay_safe",
}
STATUS_OF_DECISION = {
    "reject_conflict": "fail",
    "replay_stored": "pass",
    "brake": "fail",
    "reconcile_required": "unknown",
    "replay_safe": "pass",
}
HEX = set("0123456789abcdefABCDEF")
LARGEST = Decimal("1.7976931348623157e308")
SURROGATES = range(0xD800, 0xE000)


class RefusedError(Exception):
    pass


def read(data: bytes) -> Any:
    """The input, fractions as Decimals.

    Raises:
        RefusedError: it is malformed.
    """
    demand(len(data) <= 16 * 2**20)
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_float=Decimal,
            parse_constant=refuse,
        )
    except (ValueError, RecursionError, ArithmeticError):
        raise RefusedError from None
    demand(depth(value) <= 100)
    demand(not any(ord(character) in SURROGATES for text in texts(value) for character in text))
    check_request(value)
    return value


def rows(value: Any) -> list[int]:
    """Every row that applies to a valid input; the first of them decides."""
    operation, attempts = value["operation"], value.get("attempts", [])
    record, fingerprint = value.get("priorRecord"), fingerprint_of(value["operation"])
    del operation
    found = record_rows(record, fingerprint)
    confirmed = 2 in found
    if any(may_have_written(attempt, confirmed) for attempt in attempts):
        found.append(5)
    policy = value.get("policy", {})
    outcomes = "".join("s" if outcome(attempt) == "success" else "." for attempt in attempts)
    streak = len(outcomes.rpartition("s")[2])
    spent = sum((Fraction(attempt.get("costUnits", 1)) for attempt in attempts), Fraction(0))
    if attempts and streak >= policy.get("failureThreshold", 5):
        found.append(6)
    if attempts and spent >= Fraction(policy.get("budgetUnits", 100)):
        found.append(7)
    return found or [8]


def record_rows(record: Any, fingerprint: str | None) -> list[int]:
    if record is None:
        return []
    recorded = record.get("requestHash", "").lower() or None
    comparable = recorded is not None and fingerprint is not None
    status, committed = record.get("status"), record.get("writeCommitted", "unknown")
    found = []
    if comparable and recorded != fingerprint:
        found.append(1)
    if comparable and recorded == fingerprint and status == "completed" and committed is True:
        found.append(2)
    if status == "in_flight":
        found.append(3)
    if status is None or not comparable or (status == "completed" and committed is not True):
        found.append(4)
    return found


def may_have_written(attempt: Any, confirmed: bool) -> bool:
    if outcome(attempt) == "success":
        return not confirmed
    return outcome(attempt) == "unknown" or attempt.get("phase", "unknown") != "pre_write"


def outcome(attempt: Any) -> str:
    return str(attempt.get("outcome", "unknown"))


def fingerprint_of(operation: Any) -> str | None:
    if "body" in operation:
        return hashlib.sha256(rfc8785.dumps(as_doubles(operation["body"]))).hexdigest()
    hashed: str | None = operation.get("requestHash")
    return hashed and hashed.lower()


def as_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: as_doubles(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_doubles(element) for element in value]
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    return value


def demand(condition: bool) -> None:
    if not condition:
        raise RefusedError


def refuse(constant: str) -> Any:
    raise RefusedError(constant)


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from value
    for child in children(value):
        yield from texts(child)


def children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def depth(value: Any) -> int:
    """Level by level: how deep a reader may recurse differs from one Python to the next."""
    levels, level = 0, [value]
    while level := [part for part in level if isinstance(part, dict | list)]:
        levels += 1
        level = [child for part in level for child in children(part)]
    return levels


def check_request(value: Any) -> None:
    check_members(value, "contractVersion operation attempts priorRecord policy")
    demand(is_integer(value.get("contractVersion", 1)) and value.get("contractVersion", 1) == 1)
    check_operation(value.get("operation"))
    attempts = value.get("attempts", [])
    demand(isinstance(attempts, list) and len(attempts) <= 10_000)
    for attempt in attempts:
        check_members(attempt, "outcome phase costUnits")
        check_choice(attempt, "outcome", "success failure timeout unknown")
        check_choice(attempt, "phase", "pre_write post_write unknown")
        demand(is_amount(attempt.get("costUnits", 1)))
    if value.get("priorRecord") is not None:
        check_record(value["priorRecord"])
    policy = value.get("policy", {})
    check_members(policy, "failureThreshold budgetUnits")
    threshold: Any = policy.get("failureThreshold", 5)
    demand(is_integer(threshold) and 1 <= threshold <= LARGEST)
    demand(is_amount(policy.get("budgetUnits", 100)))


def check_operation(operation: Any) -> None:
    check_members(operation, "endpoint idempotencyKey requestHash body")
    demand(is_visible(operation.get("endpoint")))
    if "idempotencyKey" in operation:
        key = operation["idempotencyKey"]
        demand(is_visible(key) and len(key) <= 255)
    check_hash(operation)
    if "body" in operation:
        check_numbers(operation["body"])
        given = operation.get("requestHash", fingerprint_of(operation))
        demand(given.lower() == fingerprint_of(operation))


def check_record(record: Any) -> None:
    check_members(record, "status requestHash writeCommitted")
    check_choice(record, "status", "in_flight completed")
    check_hash(record)
    committed = record.get("writeCommitted", "unknown")
    demand(isinstance(committed, bool) or committed == "unknown")


def check_members(value: Any, names: str) -> None:
    demand(isinstance(value, dict) and set(value) <= set(names.split()))


def check_choice(value: Any, name: str, choices: str) -> None:
    demand(name not in value or value[name] in choices.split())


def check_hash(value: Any) -> None:
    if "requestHash" in value:
        hashed = value["requestHash"]
        demand(isinstance(hashed, str) and len(hashed) == 64 and set(hashed) <= HEX)


def check_numbers(body: Any) -> None:
    if isinstance(body, int | Decimal) and not isinstance(body, bool):
        demand(-LARGEST <= body <= LARGEST and Decimal(repr(float(body))) == body)
    for child in children(body):
        check_numbers(child)


def is_visible(value: Any) -> bool:
    return isinstance(value, str) and not (value.isspace() or value == "")


def is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return is_number(value) and Fraction(value).denominator == 1


def is_amount(value: Any) -> bool:
    """Finite, at least 0, and not so small that a double takes it for 0."""
    if not is_number(value) or not 0 <= value <= LARGEST:
        return False
    return value == 0 or float(value) > 0

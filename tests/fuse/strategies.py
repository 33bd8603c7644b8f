"""Inputs of the contract, valid and spoiled, as the JSON values and bytes they are sent as."""

import copy
import hashlib
import random
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import strategies as st

BODY = {"amount": 100, "currency": "EUR"}
HASH = hashlib.sha256(b'{"amount":100,"currency":"EUR"}').hexdigest()
OTHER_HASH = hashlib.sha256(b"another request").hexdigest()
OUTCOMES = ("success", "failure", "timeout", "unknown")
PHASES = ("pre_write", "post_write", "unknown")
STATUSES = ("in_flight", "completed")

_ENCODER = msgspec.json.Encoder(decimal_format="number")

hashes = st.sampled_from([HASH, HASH.upper(), OTHER_HASH])
amounts: st.SearchStrategy[Any] = (
    st.integers(0, 60)
    | st.sampled_from([0, 1, 20, 100, 2**53, 2**53 + 1, 10**30])
    | st.sampled_from([0.0, -0.0, 0.1, 0.25, 19.99, 1e-9, 1e300, 1.7976931348623157e308, 5e-324])
    | st.sampled_from([Decimal("0.10000000000000000001"), Decimal("99.99999999999999999999")])
    | st.floats(0, 200)
    | st.decimals(0, 200, places=20)
)


def object_of(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


operations = object_of(
    {"endpoint": st.sampled_from(["POST /v1/charges", 'a:"b"', "é\U0001f600\\"])},
    idempotencyKey=st.sampled_from(["k", "é" * 255, "a:b"]),
    requestHash=hashes,
) | object_of(
    {"endpoint": st.just("POST /v1/charges"), "body": st.just(BODY)},
    requestHash=st.sampled_from([HASH, HASH.upper()]),
)
harmless_attempts = object_of(
    {"outcome": st.sampled_from(["failure", "timeout"]), "phase": st.just("pre_write")},
    costUnits=amounts,
)
any_attempts = object_of(
    {},
    outcome=st.sampled_from(OUTCOMES),
    phase=st.sampled_from(PHASES),
    costUnits=amounts,
)
attempt_lists = st.lists(harmless_attempts, max_size=7) | st.lists(
    harmless_attempts | any_attempts, max_size=7
)
records = object_of(
    {},
    status=st.sampled_from(STATUSES),
    requestHash=hashes,
    writeCommitted=st.sampled_from([True, False, "unknown"]),
)
policies = object_of({}, failureThreshold=st.integers(1, 7) | st.just(2**70), budgetUnits=amounts)
inputs = object_of(
    {"operation": operations},
    contractVersion=st.just(1),
    attempts=attempt_lists,
    priorRecord=st.none() | records,
    policy=policies,
)
"""Valid inputs in which every row is common."""

spoilers: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 2, 1.0, 5.0, 1.5, -0.5, 10**400, Decimal("1E-400")),
        *("", " ", "x", "unknown", "true", "1", HASH, HASH[1:], "k" * 256, "g" * 64),
        *([], {}, [{}], [None], {"endpoint": "e"}, {"status": "in_flight"}),
        *(2**53 + 1, [2**53 + 1], Decimal("0.10000000000000000001"), Decimal("1E+999")),
    ]
)
NAMES = (
    *("operation", "attempts", "priorRecord", "policy", "contractVersion", "endpoint"),
    *("idempotencyKey", "requestHash", "body", "outcome", "phase", "costUnits", "status"),
    *("writeCommitted", "failureThreshold", "budgetUnits", "priorRecrod", "", "é"),
)


def encoded(value: Any) -> bytes:
    """The value as JSON, its numbers with all their digits."""
    return _ENCODER.encode(value)


@st.composite
def spoiled_inputs(draw: st.DrawFn) -> dict[str, Any]:
    """A valid input in which one to three members, anywhere, were set, added or removed."""
    value: dict[str, Any] = copy.deepcopy(draw(inputs))
    for _ in range(draw(st.integers(1, 3))):
        places = [place for place in containers(value) if isinstance(place, dict) or place]
        place = draw(st.sampled_from(places))
        if isinstance(place, list):
            place[draw(st.integers(0, len(place) - 1))] = copy.deepcopy(draw(spoilers))
            continue
        name = draw(st.sampled_from([*place, *NAMES]))
        if name in place and draw(st.booleans()):
            del place[name]
        else:
            place[name] = copy.deepcopy(draw(spoilers))
    return value


@st.composite
def spoiled_texts(draw: st.DrawFn) -> bytes:
    """The bytes of an input, some of them replaced, doubled, cut out or put in."""
    data = encoded(draw(inputs | spoiled_inputs()))
    pieces = [b"", b'"', b":", b",", b"{", b"}", b"[", b"]", b"\\", b"\\u003a", b"\xff", b" "]
    pieces += [b'"endpoint":"f",', b"1e999", b"NaN", b"0.0", b"00", b"-", b"e5", b"null", b"\x00"]
    for _ in range(draw(st.integers(1, 2))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + draw(st.sampled_from([0, 1, 12])))))
        piece = draw(st.sampled_from([*pieces, data[start:end] * 2]))
        data = data[:start] + piece + data[end:]
    return data


def containers(value: Any) -> list[Any]:
    """Every object and array in the value, itself first."""
    if not isinstance(value, dict | list):
        return []
    inside = value.values() if isinstance(value, dict) else value
    return [value, *(found for element in inside for found in containers(element))]


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the members of each object in another order."""
    if isinstance(value, list):
        return [shuffled(element, order) for element in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    order.shuffle(names)
    return {name: shuffled(value[name], order) for name in names}

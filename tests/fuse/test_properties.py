"""The properties that the contract promises, over generated inputs."""

import copy
import itertools
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from retryproof.fuse import Report, evaluate_json

from tests.fuse import strategies
from tests.fuse.strategies import BODY, HASH, encoded, shuffled
from tests.strategies import json_values, repeatable


def report_of(value: Any) -> Report:
    report = evaluate_json(encoded(value))
    assert isinstance(report, Report)
    return report


@repeatable(150)
@given(strategies.inputs, st.integers(0, 2**16))
def test_the_order_of_members_never_matters(value: Any, seed: int) -> None:
    assert report_of(shuffled(value, random.Random(seed))) == report_of(value)


@repeatable(100)
@given(json_values, st.integers(0, 2**16))
def test_the_order_of_members_in_the_body_never_matters(body: Any, seed: int) -> None:
    value = {"operation": {"endpoint": "e", "body": body}}
    assert evaluate_json(encoded(shuffled(value, random.Random(seed)))) == evaluate_json(
        encoded(value)
    )


def less_certain(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The input with one known value of it replaced by its unknown: in every way there is."""
    found = []
    for path in known_places(value):
        changed = copy.deepcopy(value)
        part: Any = changed
        for step in path[:-1]:
            part = part[step]
        name = path[-1]
        if name in {"outcome", "phase", "writeCommitted"}:
            part[name] = "unknown"
        else:
            del part[name]
        found.append(changed)
    return found


def known_places(value: dict[str, Any]) -> list[tuple[Any, ...]]:
    places: list[tuple[Any, ...]] = [
        ("operation", name) for name in ("requestHash", "body") if name in value["operation"]
    ]
    places += [("priorRecord", name) for name in value.get("priorRecord") or {}]
    for index, attempt in enumerate(value.get("attempts", [])):
        places += [("attempts", index, name) for name in ("outcome", "phase") if name in attempt]
    return places


@repeatable(150)
@given(strategies.inputs)
def test_an_unknown_in_place_of_a_known_value_never_leads_to_a_pass(value: Any) -> None:
    # With both, taking one away leaves the fingerprint as well known as before.
    assume(not {"requestHash", "body"} <= set(value["operation"]))
    before = report_of(value).status

    for changed in less_certain(value):
        after = report_of(changed).status
        assert after != "pass" or before == "pass", changed


def test_there_is_a_value_to_forget_at_every_place() -> None:
    record = {"status": "completed", "requestHash": HASH, "writeCommitted": True}
    attempt = {"outcome": "failure", "phase": "pre_write"}
    value = {
        "operation": {"endpoint": "e", "requestHash": HASH},
        "priorRecord": record,
        "attempts": [attempt],
    }

    assert len(less_certain(value)) == 6
    assert report_of(value).status == "pass"
    # Forgetting anything about a confirmed record makes it an uncertain one.
    assert [report_of(changed).status for changed in less_certain(value)] == [
        *("unknown", "unknown", "unknown", "unknown"),
        *("pass", "pass"),
    ]


@repeatable(150)
@given(strategies.inputs, strategies.any_attempts | strategies.harmless_attempts, st.data())
def test_an_attempt_more_never_leads_to_a_pass(
    value: Any, attempt: Any, data: st.DataObject
) -> None:
    attempts = value.get("attempts", [])
    at = data.draw(st.integers(0, len(attempts)))
    longer = {**value, "attempts": [*attempts[:at], attempt, *attempts[at:]]}

    before, after = report_of(value).status, report_of(longer).status
    assert after != "pass" or before == "pass"


@repeatable(150)
@given(strategies.inputs, strategies.harmless_attempts)
def test_a_failure_more_before_the_write_may_brake_but_never_replays_what_is_stored(
    value: Any, attempt: Any
) -> None:
    before = report_of(value).decision
    after = report_of({**value, "attempts": [*value.get("attempts", []), attempt]}).decision

    assert after in {before, "brake"}
    assert (after == "replay_stored") == (before == "replay_stored")


@repeatable(150)
@given(strategies.inputs)
def test_a_body_and_its_own_hash_give_the_same_report(value: Any) -> None:
    forms = (
        {"body": BODY},
        {"requestHash": HASH},
        {"requestHash": HASH.upper(), "body": BODY},
    )
    reports = [
        report_of({**value, "operation": {"endpoint": "e", **fingerprint}}) for fingerprint in forms
    ]

    assert all(first == second for first, second in itertools.pairwise(reports))


@repeatable(150)
@given(strategies.inputs)
def test_doubt_is_sticky(value: Any) -> None:
    doubtful = [{}, *value.get("attempts", [])]
    assume(not value.get("priorRecord"))

    assert report_of({**value, "attempts": doubtful}).decision == "reconcile_required"


@repeatable(150)
@given(strategies.inputs)
def test_the_idempotency_key_and_the_endpoint_decide_nothing(value: Any) -> None:
    operation = {**value["operation"], "endpoint": "another", "idempotencyKey": "another"}

    assert report_of({**value, "operation": operation}) == report_of(value)

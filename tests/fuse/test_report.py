"""The answer as JSON and as an exit status."""

import itertools

import pytest
from retryproof.fuse import (
    EXIT_STATUS_OF,
    AnyStatus,
    Report,
    encode,
    evaluate_json,
    exit_status_of,
    worst_status,
)
from retryproof.fuse.report import STATUS_OF

from tests.fuse.strategies import HASH, encoded

WORST_FIRST: list[AnyStatus] = ["unverified", "fail", "unknown", "pass"]


def test_what_an_unverified_answer_looks_like() -> None:
    assert encode(evaluate_json(b'{"operation":{}}')).decode() == (
        '{"contract":"retryfuse","status":"unverified","decision":null,'
        '"errors":[{"path":"operation.endpoint","message":"is missing."}]}'
    )


def test_each_status_has_the_exit_status_of_the_contract() -> None:
    assert EXIT_STATUS_OF == {"pass": 0, "unverified": 1, "fail": 2, "unknown": 3}
    assert STATUS_OF == {
        "replay_safe": "pass",
        "replay_stored": "pass",
        "brake": "fail",
        "reject_conflict": "fail",
        "reconcile_required": "unknown",
    }
    assert exit_status_of(evaluate_json(b"")) == 1


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_worst_status_stands_for_all(length: int) -> None:
    for statuses in itertools.product(WORST_FIRST, repeat=length):
        expected = next(status for status in WORST_FIRST if status in statuses)
        assert worst_status(statuses) == expected
        assert worst_status(iter(statuses)) == expected


def test_of_nothing_at_all_nothing_is_verified() -> None:
    assert worst_status([]) == "unverified"


def test_a_circuit_is_shown_open_behind_any_decision() -> None:
    failures = [{"outcome": "failure", "phase": "pre_write"}] * 5
    record = {"status": "completed", "requestHash": HASH, "writeCommitted": True}
    operation = {"endpoint": "e", "requestHash": HASH}

    report = evaluate_json(
        encoded({"operation": operation, "attempts": failures, "priorRecord": record})
    )

    assert isinstance(report, Report)
    assert report.decision == "replay_stored"
    assert report.circuit.open
    assert [reason.code for reason in report.reasons] == ["confirmed_record", "failure_streak"]


def test_without_an_attempt_no_circuit_is_open() -> None:
    report = evaluate_json(b'{"operation":{"endpoint":"e"},"policy":{"budgetUnits":0}}')

    assert isinstance(report, Report)
    assert not report.circuit.open

"""Requests that are built in code: what they refuse, and that none of it reads as safe."""

import itertools
from decimal import Decimal
from typing import Any

import pytest
from retryproof.fuse import (
    Attempt,
    Operation,
    Policy,
    PriorRecord,
    Report,
    Request,
    encode,
    evaluate,
    evaluate_json,
)
from retryproof.fuse.attempts import KINDS, MAX_ATTEMPTS, kinds_of, sum_up

from tests.fuse.strategies import BODY, HASH, OTHER_HASH, encoded

OPERATION = Operation("POST /v1/charges")
HARMLESS = Attempt("failure", "pre_write")


def test_a_client_asks_before_a_retry() -> None:
    request = Request(
        Operation("POST /v1/charges", idempotency_key="order-1", body=BODY),
        attempts=(Attempt("timeout", "post_write", cost_units=0.5),),
        policy=Policy(failure_threshold=3),
    )

    report = evaluate(request)

    assert report.decision == "reconcile_required"
    assert report.fingerprint == HASH
    assert (report.circuit.failure_streak, report.circuit.spent_units) == (1, 0.5)


def test_a_request_encodes_to_the_input_it_is() -> None:
    request = Request(
        Operation("e", "k", HASH),
        attempts=(HARMLESS,),
        prior_record=PriorRecord("completed", HASH, True),
        policy=Policy(budget_units=2.5),
    )

    assert evaluate_json(encoded(request)) == evaluate(request)


@pytest.mark.parametrize(
    "members",
    [
        {"endpoint": ""},
        {"endpoint": " \u00a0"},
        {"endpoint": "e", "idempotency_key": ""},
        {"endpoint": "e", "idempotency_key": "k" * 256},
        {"endpoint": "e", "request_hash": "x"},
        {"endpoint": "e", "request_hash": " " + HASH[1:]},
        {"endpoint": "e", "request_hash": OTHER_HASH, "body": BODY},
    ],
)
def test_operations_that_cannot_be_built(members: Any) -> None:
    with pytest.raises(ValueError, match=r"must|is not"):
        Operation(**members)


@pytest.mark.parametrize(
    "members",
    [
        {"failure_threshold": 0},
        {"failure_threshold": 10**400},
        {"budget_units": -1},
        {"budget_units": float("nan")},
        {"budget_units": float("inf")},
        {"budget_units": "5"},
        {"budget_units": True},
        {"budget_units": 10**400},
    ],
)
def test_policies_that_cannot_be_built(members: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        Policy(**members)


def test_a_record_that_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        PriorRecord(request_hash="abc")


@pytest.mark.parametrize(
    "attempt",
    [
        Attempt("Timeout", "pre_write"),  # type: ignore[arg-type]
        Attempt("failure", "pre-write"),  # type: ignore[arg-type]
        Attempt("failure", "pre_write", -1),
        Attempt("failure", "pre_write", float("nan")),
        Attempt("failure", "pre_write", Decimal("NaN")),
        Attempt("failure", "pre_write", "1"),  # type: ignore[arg-type]
        Attempt("failure", "pre_write", True),
    ],
)
def test_an_attempt_with_a_mistake_is_never_judged(attempt: Attempt) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        evaluate(Request(OPERATION, attempts=(HARMLESS, attempt)))


def test_too_many_attempts_are_never_judged() -> None:
    with pytest.raises(ValueError, match="10,000"):
        evaluate(Request(OPERATION, attempts=(HARMLESS,) * (MAX_ATTEMPTS + 1)))


def test_a_body_without_a_fingerprint_is_never_judged() -> None:
    with pytest.raises(ValueError, match=r"the body at id is a number that a double would change"):
        evaluate(Request(Operation("e", body={"id": 2**53 + 1})))


def test_hashes_are_held_in_lower_case() -> None:
    record = PriorRecord("completed", HASH.upper(), True)

    assert record.request_hash == HASH
    assert evaluate(Request(Operation("e", body=BODY), prior_record=record)).status == "pass"


def test_a_tally_knows_each_kind_of_attempt() -> None:
    for kinds in itertools.chain.from_iterable(
        itertools.combinations(KINDS, size) for size in range(4)
    ):
        attempts = [Attempt(outcome, phase) for outcome, phase in kinds] * 2
        assert kinds_of(sum_up(attempts).kind_bits) == set(kinds)


def test_a_tally_counts_from_the_last_success() -> None:
    success = Attempt("success", "post_write")
    for before, after in itertools.product(range(3), range(3)):
        attempts = [HARMLESS] * before + [success] + [HARMLESS] * after
        assert sum_up(attempts).failure_streak == after
    assert sum_up([HARMLESS] * 4).failure_streak == 4
    assert sum_up([]).failure_streak == 0


def test_only_two_kinds_of_attempt_are_harmless() -> None:
    """Whatever kind is added to the contract one day counts as doubt until it is judged here."""
    for outcome, phase in KINDS:
        report = evaluate(Request(OPERATION, attempts=(Attempt(outcome, phase),)))
        harmless = outcome in {"failure", "timeout"} and phase == "pre_write"
        assert report.decision == ("replay_safe" if harmless else "reconcile_required")


def test_the_order_of_the_report_is_that_of_the_contract() -> None:
    report = evaluate(Request(OPERATION))

    assert isinstance(report, Report)
    assert encode(report).decode() == (
        '{"contract":"retryfuse","contractVersion":1,"decision":"replay_safe","status":"pass",'
        '"reasons":[{"code":"no_effect",'
        '"message":"There was no attempt, and there is no record of one."}],"fingerprint":null,'
        '"circuit":{"failureStreak":0,"failureThreshold":5,"spentUnits":0,"budgetUnits":100,'
        '"open":false},"advice":"Send it: nothing of it has been executed."}'
    )

"""The product against the second writing of its contract, on valid and on spoiled inputs."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from retryproof.fuse import Report, Unverified, evaluate, evaluate_json
from retryproof.fuse.decision import judge
from retryproof.fuse.facts import Facts
from retryproof.fuse.reading import read_closely, read_quickly
from retryproof.fuse.table import OTHERWISE, TABLE

from tests.fuse import specification, strategies
from tests.fuse.strategies import HASH, OTHER_HASH, encoded
from tests.strategies import repeatable

CODES = {row.code: number for number, row in enumerate((*TABLE, OTHERWISE), 1)}


def rows_of(report: Report) -> list[int]:
    return [CODES[reason.code] for reason in report.reasons]


def assert_as_specified(data: bytes) -> None:
    answer = evaluate_json(data)
    try:
        value = specification.read(data)
    except specification.RefusedError:
        assert isinstance(answer, Unverified), answer
        assert answer.errors
        return
    assert isinstance(answer, Report), answer
    rows = specification.rows(value)
    assert rows_of(answer) == rows
    assert answer.decision == specification.DECISION_OF_ROW[rows[0]]
    assert answer.status == specification.STATUS_OF_DECISION[answer.decision]
    assert answer.fingerprint == specification.fingerprint_of(value["operation"])


def test_the_table_has_eight_rows_and_each_its_own_code() -> None:
    assert list(CODES.values()) == [1, 2, 3, 4, 5, 6, 7, 8]


@repeatable(300)
@given(strategies.inputs)
def test_valid_inputs(value: Any) -> None:
    data = encoded(value)

    specification.read(data)
    assert_as_specified(data)


@repeatable(300)
@given(strategies.spoiled_inputs())
def test_spoiled_inputs(value: Any) -> None:
    assert_as_specified(encoded(value))


@repeatable(300)
@given(strategies.spoiled_texts())
def test_spoiled_texts(data: bytes) -> None:
    assert_as_specified(data)


@repeatable(300)
@given(strategies.inputs | strategies.spoiled_inputs())
def test_the_quick_and_the_close_reader_agree(value: Any) -> None:
    assert_readers_agree(encoded(value))


@repeatable(300)
@given(strategies.spoiled_texts())
def test_the_readers_agree_on_spoiled_texts(data: bytes) -> None:
    assert_readers_agree(data)


def assert_readers_agree(data: bytes) -> None:
    quickly, closely = read_quickly(data), read_closely(data)
    if quickly is None:
        return  # It takes a closer look.
    try:
        report = evaluate(quickly)
    except ValueError:
        return  # It does, too.
    assert closely == quickly
    assert not isinstance(closely, Unverified)
    assert evaluate(closely) == report


@pytest.mark.parametrize(
    "data",
    [
        encoded({"operation": {"endpoint": "a:b", "body": {"c:d": [":", 1.5]}}}),
        encoded({"operation": {"endpoint": 'quoted "\\"', "requestHash": HASH}}),
        b' { "operation" : { "endpoint" : "\\u00e9" } , "attempts" : [ { } ] } ',
        b'{"operation":{"endpoint":"e"},"attempts":[],"priorRecord":null,"policy":{}}',
    ],
)
def test_ordinary_inputs_take_no_closer_look(data: bytes) -> None:
    quickly = read_quickly(data)

    assert quickly is not None
    assert quickly == read_closely(data)


def every_fact() -> list[dict[str, Any]]:
    """Inputs for all combinations of a record, a fingerprint, one attempt, and its limits."""
    operations: list[Any] = [{"endpoint": "e"}, {"endpoint": "e", "requestHash": HASH}]
    records: list[Any] = [None]
    for status, hashed, committed in itertools.product(
        (None, *strategies.STATUSES), (None, HASH, OTHER_HASH), (None, True, False, "unknown")
    ):
        given = {"status": status, "requestHash": hashed, "writeCommitted": committed}
        records.append({name: value for name, value in given.items() if value is not None})
    attempts: list[list[Any]] = [[]]
    for outcome, phase in itertools.product(
        (None, *strategies.OUTCOMES), (None, *strategies.PHASES)
    ):
        given = {"outcome": outcome, "phase": phase}
        attempts.append([{name: value for name, value in given.items() if value is not None}])
    policies = [{}, {"failureThreshold": 1}, {"budgetUnits": 1}]
    return [
        {"operation": operation, "priorRecord": record, "attempts": attempt, "policy": policy}
        for operation, record, attempt, policy in itertools.product(
            operations, records, attempts, policies
        )
    ]


def test_every_combination_of_facts() -> None:
    values = every_fact()
    for value in values:
        assert_as_specified(encoded(value))
    decisive = {specification.rows(value)[0] for value in values}
    assert decisive == set(CODES.values())


def test_a_row_that_decides_has_an_advice_of_one_sentence() -> None:
    for row in (*TABLE, OTHERWISE):
        for ground in row.grounds:
            assert ground.message.endswith("."), ground
            assert ground.advice.endswith("."), ground
            assert ". " not in ground.advice, ground


def test_the_grounds_of_a_row_are_all_told() -> None:
    facts = Facts(
        "completed", "unknown", "neither", frozenset({("unknown", "unknown")}), False, False
    )

    record, write = judge(facts).reasons

    assert record.message == (
        "The record is of a completed request whose write nobody has confirmed. The record cannot "
        "be compared with this request: neither of them has a requestHash, and the operation has "
        "no body."
    )
    assert write.message == "The outcome of an attempt is not known."

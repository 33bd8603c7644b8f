"""The fixture matrix: every case as it says, and the matrix as complete as it claims."""

import itertools
from collections import Counter

import pytest
from retryproof.fuse import encode, evaluate_json, exit_status_of
from retryproof_protocol.strictjson import decode

from tests.fuse import specification
from tests.fuse.matrix import CASES, CATEGORIES, FOLDER, Case

MALFORMED = {"decision": None, "status": "unverified", "exit": 1}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    answer = evaluate_json(case.data)

    assert case.expected == {
        "decision": answer.decision,
        "status": answer.status,
        "exit": exit_status_of(answer),
    }


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_second_writing_of_the_contract_expects_the_same(case: Case) -> None:
    try:
        rows = specification.rows(specification.read(case.data))
    except specification.RefusedError:
        assert case.expected == MALFORMED
        return
    decision = specification.DECISION_OF_ROW[rows[0]]
    status = specification.STATUS_OF_DECISION[decision]
    exit_status = {"pass": 0, "fail": 2, "unknown": 3}[status]
    assert case.expected == {"decision": decision, "status": status, "exit": exit_status}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_answer_is_strict_json_on_one_line(case: Case) -> None:
    line = encode(evaluate_json(case.data))

    assert b"\n" not in line
    answer = decode(line)
    assert isinstance(answer, dict)
    assert answer["status"] == case.expected["status"]


def test_a_file_is_called_as_its_case_and_lies_in_its_category() -> None:
    for case in CASES:
        assert (case.path.parent.name, case.path.stem) == (case.document["category"], case.name)
        forms = {"input", "inputText", "inputBase64"} & set(case.document)
        assert len(forms) == 1
        assert set(case.document) == {"name", "category", "expect", *forms}
    assert {path for path in FOLDER.glob("**/*") if path.is_file()} == {case.path for case in CASES}


def test_there_are_enough_cases_in_each_category() -> None:
    counts = Counter(case.document["category"] for case in CASES)

    assert set(counts) == set(CATEGORIES)
    assert sum(counts.values()) >= 150
    assert min(counts.values()) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_malformed_category_is_the_malformed_cases() -> None:
    for case in CASES:
        assert (case.document["category"] == "malformed") == (case.expected == MALFORMED)


def test_every_row_and_every_pair_of_rows_that_can_apply_together_has_a_case() -> None:
    together = [
        set(specification.rows(specification.read(case.data)))
        for case in CASES
        if case.expected != MALFORMED
    ]
    exclusive = {(1, 2), (2, 3), (2, 4)}
    pairs = set(itertools.combinations(range(1, 8), 2)) - exclusive

    for row in range(1, 9):
        assert any(rows == {row} for rows in together), row
    for pair in pairs:
        assert any(rows >= set(pair) for rows in together), pair
    for pair in exclusive:
        assert not any(rows >= set(pair) for rows in together), pair

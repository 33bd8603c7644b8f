"""The named faults: each is caught by the matrix, and none is taken for another."""

import itertools

import pytest
from retryproof.fuse.diagnosis import ObservedCase, diagnose, faulty_answer, resembling_faults
from retryproof.fuse.faults import FAULTS
from retryproof.fuse.matrix import REFUSED, Answered

from tests.fuse_suite.driving import CASES, MATRIX

ANSWERS = {
    fault: {case.name: faulty_answer(fault, case) for case in MATRIX.cases} for fault in FAULTS
}
PLANNED = len(MATRIX.cases)


def observed(answers: dict[str, Answered]) -> list[ObservedCase]:
    return [ObservedCase(CASES[name], answer) for name, answer in answers.items()]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_named(fault: str) -> None:
    found = observed(ANSWERS[fault])

    assert any(case.differs for case in found)
    assert diagnose(found, PLANNED) == (fault, FAULTS[fault].explanation)
    for case in found:
        assert (fault in resembling_faults(case)) == case.differs


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(FAULTS, 2)])
def test_two_faults_are_told_apart_by_a_case_that_each_of_them_fails(one: str, other: str) -> None:
    apart = [name for name in CASES if ANSWERS[one][name] != ANSWERS[other][name]]

    assert any(ANSWERS[one][name] != CASES[name].expected for name in apart)
    assert any(ANSWERS[other][name] != CASES[name].expected for name in apart)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_refuses_what_is_malformed(fault: str) -> None:
    for name, case in CASES.items():
        assert (ANSWERS[fault][name] == REFUSED) == (case.expected == REFUSED)


def test_the_words_of_a_fault_are_sentences_of_their_own() -> None:
    for name, fault in FAULTS.items():
        assert fault.name == name
        assert fault.explanation.endswith(".")
        assert not fault.summary.endswith(".")
    assert len({fault.explanation for fault in FAULTS.values()}) == len(FAULTS)


def test_nothing_is_said_of_nothing() -> None:
    assert diagnose([], PLANNED) == (None, "Nothing was observed.")


def test_the_contracts_own_answers_resemble_nothing() -> None:
    found = observed({name: case.expected for name, case in CASES.items()})

    assert diagnose(found, PLANNED)[0] is None
    assert all(resembling_faults(case) == () for case in found)


def test_a_single_answer_may_fit_several_faults_and_does_not_say_what_others_would() -> None:
    name = next(
        name
        for name in CASES
        if ANSWERS["body-blind"][name] == ANSWERS["brake-first"][name] != CASES[name].expected
    )

    fault, explanation = diagnose(observed({name: ANSWERS["body-blind"][name]}), PLANNED)

    assert fault is None
    assert explanation == (
        "What was observed fits body-blind and brake-first alike. Only 1 of the "
        f"{PLANNED} cases were answered: the others may say more."
    )


def test_what_lets_through_too_much_is_told_first_where_no_fault_fits() -> None:
    safe = Answered("replay_safe", "pass")

    fault, explanation = diagnose(observed(dict.fromkeys(CASES, safe)), PLANNED)

    assert fault is None
    assert "no single named fault explains them. " in explanation
    assert " of them let through what the contract holds back: " in explanation
    assert explanation.endswith(" more.")


def test_an_adapter_that_refuses_everything_is_asked_whether_it_knows_the_call() -> None:
    found = [ObservedCase(case, REFUSED, "no such method: evaluate") for case in MATRIX.cases]

    assert diagnose(found, PLANNED) == (
        None,
        "Every input was refused, the valid ones as well. The first refusal of those says: "
        "no such method: evaluate. Does the adapter serve `evaluate`?",
    )

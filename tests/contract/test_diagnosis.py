"""The diagnosis: which fault was seen, and never a fault that was not."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from retryproof.contract.bundle import Case
from retryproof.contract.diagnosis import ObservedCase, diagnose, resembling_faults
from retryproof.contract.differences import classify, differences
from retryproof.contract.model import REFERENCE, faulty
from retryproof_protocol.messages import Observation

from tests.bundle import BUNDLE, CASES, case_names
from tests.contract import second_model
from tests.strategies import FAULT_NAMES, fault_names, observations, repeatable

Trace = tuple[Observation, ...]
NOTHING_DIFFERS = "Nothing that was observed differs from the contract."
EVERY_SUBSET = [
    subset
    for size in range(1, len(BUNDLE.cases) + 1)
    for subset in itertools.combinations(BUNDLE.cases, size)
]


def observed(cases: Iterable[Case], fault: str | None) -> list[ObservedCase]:
    model = REFERENCE if fault is None else faulty(fault)
    return [ObservedCase(case, model.trace(case.steps)) for case in cases]


def in_dialect(cases: Sequence[ObservedCase], statuses: Mapping[int, int]) -> list[ObservedCase]:
    """The same cases from a service that has other status codes."""
    return [
        ObservedCase(
            case.case,
            tuple(
                msgspec.structs.replace(seen, status=statuses.get(seen.status or 0, seen.status))
                for seen in case.observations
            ),
        )
        for case in cases
    ]


def observed_case(name: str, *seen: str) -> ObservedCase:
    """A case with observations such as "201 1 1", a dash for null."""

    def number(text: str) -> int | None:
        return None if text == "-" else int(text)

    words = [observation.split() for observation in seen]
    return ObservedCase(
        CASES[name],
        tuple(Observation(number(s), number(r), int(writes)) for s, r, writes in words),
    )


@pytest.mark.parametrize("fault", FAULT_NAMES)
def test_each_fault_is_diagnosed_as_itself(fault: str) -> None:
    diagnosis = diagnose(BUNDLE, observed(BUNDLE.cases, fault))

    assert diagnosis.fault == fault
    assert diagnosis.explanation == BUNDLE.fault(fault).explanation


def test_the_reference_is_diagnosed_with_nothing() -> None:
    diagnosis = diagnose(BUNDLE, observed(BUNDLE.cases, None))

    assert (diagnosis.fault, diagnosis.explanation) == (None, NOTHING_DIFFERS)


@pytest.mark.parametrize("fault", FAULT_NAMES)
def test_in_any_subset_of_cases_a_fault_is_named_alone_or_with_its_likes(fault: str) -> None:
    for subset in EVERY_SUBSET:
        diagnosis = diagnose(BUNDLE, observed(subset, fault))
        likes = [
            other
            for other in FAULT_NAMES
            if all(faulty(other).trace(c.steps) == faulty(fault).trace(c.steps) for c in subset)
        ]
        if not set(case_names(subset)) & set(BUNDLE.fault(fault).caught_by):
            assert (diagnosis.fault, diagnosis.explanation) == (None, NOTHING_DIFFERS)
        elif likes == [fault]:
            assert diagnosis.fault == fault
        else:
            assert diagnosis.fault is None
            assert all(other in diagnosis.explanation for other in likes)


def test_a_subset_that_fits_two_faults_names_both_and_says_that_it_is_a_subset() -> None:
    diagnosis = diagnose(BUNDLE, observed([CASES["lost-create"]], "forget-on-loss"))

    assert diagnosis.fault is None
    assert "fits duplicate-write and forget-on-loss alike." in diagnosis.explanation
    assert "Only 1 of the 7 cases" in diagnosis.explanation


@pytest.mark.parametrize("fault", FAULT_NAMES)
def test_a_diagnosis_from_a_part_of_the_cases_says_how_many_were_complete(fault: str) -> None:
    caught = [CASES[name] for name in BUNDLE.fault(fault).caught_by]
    cut_off = ObservedCase(CASES["independent-keys"], CASES["independent-keys"].expected[:1])

    part = diagnose(BUNDLE, observed(caught[:1], fault)).explanation
    part_cut_off = diagnose(BUNDLE, [*observed(caught[:1], fault), cut_off]).explanation
    whole = diagnose(BUNDLE, observed(BUNDLE.cases, fault)).explanation

    assert "Only 1 of the 7 cases" in part
    assert "Only 1 of the 7 cases" in part_cut_off
    assert "Only" not in whole


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param([], id="no case"),
        pytest.param([ObservedCase(case, ()) for case in BUNDLE.cases], id="no step of any case"),
    ],
)
def test_without_observations_nothing_is_said(cases: list[ObservedCase]) -> None:
    diagnosis = diagnose(BUNDLE, cases)

    assert (diagnosis.fault, diagnosis.explanation) == (None, "Nothing was observed.")


@repeatable(200)
@given(st.data(), fault_names)
def test_cases_that_were_cut_off_count_as_far_as_they_were_observed(
    data: st.DataObject, fault: str
) -> None:
    cases = [
        ObservedCase(case.case, case.observations[: data.draw(st.integers(0, 4))])
        for case in observed(BUNDLE.cases, fault)
    ]

    diagnosis = diagnose(BUNDLE, cases)

    if not any(case.observations for case in cases):
        assert diagnosis.explanation == "Nothing was observed."
    elif not any(case.differs for case in cases):
        assert diagnosis.explanation == NOTHING_DIFFERS
    else:
        assert diagnosis.fault == fault or fault in diagnosis.explanation


def fits(cases: Sequence[ObservedCase], fault: str) -> bool:
    return all(
        second_model.trace(case.case.steps, fault)[: len(case.observations)] == case.observations
        for case in cases
    )


@st.composite
def any_cases(draw: st.DrawFn) -> list[ObservedCase]:
    """Cases observed from the reference or a fault, some with an observation of any kind."""
    cases = []
    for case in draw(st.lists(st.sampled_from(BUNDLE.cases), unique=True, max_size=4)):
        trace = list(second_model.trace(case.steps, draw(st.none() | fault_names)))
        if draw(st.booleans()):
            trace[draw(st.integers(0, len(trace) - 1))] = draw(observations)
        cases.append(ObservedCase(case, tuple(trace[: draw(st.integers(0, len(trace)))])))
    return cases


@repeatable(200)
@given(any_cases())
def test_a_fault_is_named_only_if_it_alone_explains_everything(cases: list[ObservedCase]) -> None:
    fitting = [fault for fault in FAULT_NAMES if fits(cases, fault)]
    differs = any(
        case.observations != case.case.expected[: len(case.observations)] for case in cases
    )

    diagnosis = diagnose(BUNDLE, cases)

    assert diagnosis.fault == (fitting[0] if differs and len(fitting) == 1 else None)
    assert diagnosis.explanation.endswith(".")
    assert "None" not in diagnosis.explanation
    assert "()" not in diagnosis.explanation


@repeatable(200)
@given(any_cases())
def test_a_case_resembles_the_faults_whose_whole_trace_was_observed(
    cases: list[ObservedCase],
) -> None:
    for case in cases:
        expected = tuple(
            fault
            for fault in FAULT_NAMES
            if second_model.trace(case.case.steps, fault) == case.observations
            and case.observations != case.case.expected
        )
        assert resembling_faults(case) == expected


@pytest.mark.parametrize(
    ("case", "resembles"),
    [
        pytest.param(
            observed_case("lost-create", "- - 1", "201 2 2"),
            ("duplicate-write", "forget-on-loss"),
            id="two faults look alike",
        ),
        pytest.param(
            observed_case("lost-replay", "201 1 1", "- - 1", "201 2 2"),
            ("forget-on-loss",),
            id="one fault",
        ),
        pytest.param(
            observed_case("lost-create", "- - 1", "200 1 1"), (), id="as the contract has it"
        ),
        pytest.param(
            observed_case("body-conflict", "201 1 1", "200 1 1"), (), id="cut off before the end"
        ),
        pytest.param(observed_case("body-conflict"), (), id="not observed"),
        pytest.param(
            observed_case("lost-create", "- - 1", "202 2 2"), (), id="nearly a fault's trace"
        ),
        pytest.param(
            observed_case("matching-replay", "201 1 1", "208 1 1"), (), id="another dialect"
        ),
    ],
)
def test_what_a_case_resembles(case: ObservedCase, resembles: tuple[str, ...]) -> None:
    assert resembling_faults(case) == resembles


@pytest.mark.parametrize(
    ("statuses", "dialect"),
    [
        pytest.param({200: 201}, "201 where the contract says 200", id="replays say created"),
        pytest.param({409: 422}, "422 where the contract says 409", id="conflict unprocessable"),
        pytest.param(
            {201: 200, 409: 422},
            "200 where the contract says 201; 422 where the contract says 409",
            id="two codes, each once, in the order of appearance",
        ),
    ],
)
def test_a_service_with_other_status_codes_speaks_another_dialect(
    statuses: dict[int, int], dialect: str
) -> None:
    diagnosis = diagnose(BUNDLE, in_dialect(observed(BUNDLE.cases, None), statuses))

    assert diagnosis.fault is None
    assert diagnosis.explanation.startswith("Only status codes differ")
    assert f"another dialect: {dialect}. It " in diagnosis.explanation


def test_a_dialect_that_has_a_name_is_told_with_it() -> None:
    ietf = [replayed_as_created(case) for case in observed(BUNDLE.cases, None)]
    diagnosis = diagnose(BUNDLE, in_dialect(ietf, {409: 422}))
    assert diagnosis.explanation.endswith("declare it with --profile ietf.")


def replayed_as_created(case: ObservedCase) -> ObservedCase:
    return ObservedCase(
        case.case,
        tuple(
            replace(seen, status=201) if seen.status == 200 else seen for seen in case.observations
        ),
    )


@pytest.mark.parametrize("fault", FAULT_NAMES)
def test_a_fault_is_recognized_behind_another_dialect(fault: str) -> None:
    cases = in_dialect(observed(BUNDLE.cases, fault), {200: 208, 201: 202, 409: 422})

    diagnosis = diagnose(BUNDLE, cases)

    assert diagnosis.fault is None
    assert diagnosis.explanation.startswith("Apart from its status codes (")
    assert "202 where the contract says 201" in diagnosis.explanation
    assert f"like {fault}. {BUNDLE.fault(fault).explanation}" in diagnosis.explanation


def test_a_dialect_that_shows_only_where_an_effect_does_is_named_or_left_out() -> None:
    case = observed_case("body-conflict", "201 1 1", "202 1 1", "200 1 1")

    explanation = diagnose(BUNDLE, [case]).explanation

    assert "like body-blind" in explanation
    assert "()" not in explanation


def test_behind_a_dialect_too_both_faults_that_fit_are_named() -> None:
    case = observed_case("lost-create", "- - 1", "202 2 2")

    diagnosis = diagnose(BUNDLE, [case])

    assert diagnosis.fault is None
    assert "duplicate-write" in diagnosis.explanation
    assert "forget-on-loss" in diagnosis.explanation


def test_two_faults_together_are_told_apart_from_any_one() -> None:
    cases = [
        *observed([CASES["fixed-expiry"]], "sliding-expiry"),
        *observed([CASES["body-conflict"]], "body-blind"),
        *observed([CASES["matching-replay"]], None),
    ]

    diagnosis = diagnose(BUNDLE, cases)

    assert diagnosis.fault is None
    assert "fixed-expiry, body-conflict;" in diagnosis.explanation
    assert "no single named fault explains that." in diagnosis.explanation
    assert "matching-replay" not in diagnosis.explanation


def test_two_faults_and_a_dialect_are_all_told() -> None:
    cases = [
        *observed([CASES["fixed-expiry"]], "sliding-expiry"),
        *observed([CASES["lost-create"]], "forget-on-loss"),
        observed_case("matching-replay", "201 1 1", "208 1 1"),
    ]

    explanation = diagnose(BUNDLE, cases).explanation

    assert "no single named fault explains that." in explanation
    assert "Besides, status codes differ: 208 where the contract says 200." in explanation


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(observed_case("lost-create", "201 - 1"), id="a lost answer has a status"),
        pytest.param(observed_case("matching-replay", "- 1 1"), id="an answer has none"),
    ],
)
def test_no_status_is_called_so_in_words(case: ObservedCase) -> None:
    explanation = diagnose(BUNDLE, [case]).explanation

    assert explanation.startswith("Only status codes differ")
    assert "None" not in explanation


@pytest.mark.parametrize(
    ("expected", "actual", "members", "difference_class"),
    [
        pytest.param("201 1 1", "201 1 1", (), None, id="equal"),
        pytest.param("201 1 1", "200 1 1", ("status",), "status-only", id="status"),
        pytest.param("- - 1", "200 - 1", ("status",), "status-only", id="a status where none is"),
        pytest.param("201 1 1", "201 2 1", ("receipt",), "effect", id="receipt"),
        pytest.param("409 - 1", "409 1 1", ("receipt",), "effect", id="a receipt where none is"),
        pytest.param("201 1 1", "201 1 2", ("committedWrites",), "effect", id="writes"),
        pytest.param("409 - 1", "200 1 1", ("status", "receipt"), "effect", id="status, receipt"),
        pytest.param("201 1 1", "409 1 2", ("status", "committedWrites"), "effect", id="both ends"),
        pytest.param(
            "200 1 1", "201 2 2", ("status", "receipt", "committedWrites"), "effect", id="all"
        ),
    ],
)
def test_a_difference_is_an_effect_if_a_write_or_a_receipt_differs(
    expected: str, actual: str, members: tuple[str, ...], difference_class: str | None
) -> None:
    [right] = observed_case("lost-create", expected).observations
    [seen] = observed_case("lost-create", actual).observations

    assert differences(right, seen) == members
    assert classify(differences(right, seen)) == difference_class


@repeatable(200)
@given(observations, observations)
def test_differences_are_the_members_that_are_not_equal(
    expected: Observation, actual: Observation
) -> None:
    right, seen = msgspec.to_builtins(expected), msgspec.to_builtins(actual)

    assert list(differences(expected, actual)) == [n for n in right if right[n] != seen[n]]

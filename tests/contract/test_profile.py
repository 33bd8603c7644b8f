"""Declared dialects: what a profile may change, and what it can never excuse."""

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace
from retryproof.contract.bundle import Bundle
from retryproof.contract.diagnosis import ObservedCase, diagnose, resembling_faults
from retryproof.contract.model import FAULTS, Model, faulty
from retryproof.contract.profile import (
    PROFILES,
    SEED,
    Profile,
    ProfileError,
    as_expected,
    deviations_of,
    profiled,
    read_profile,
)
from retryproof_protocol.messages import Observation

from tests.bundle import BUNDLE
from tests.strategies import histories

LATE = Profile("late", replay="same", conflict=(422,), expires_at_deadline=False)
EVERY = (*PROFILES.values(), LATE)
each_profile = pytest.mark.parametrize("profile", EVERY, ids=lambda profile: profile.name)


def observed(profile: Profile, bundle: Bundle, traces: dict[str, Any]) -> list[ObservedCase]:
    """The cases as the report reads them."""
    return [
        ObservedCase(case, as_expected(profile, case, traces[case.name])) for case in bundle.cases
    ]


def traces_of(model: Model, bundle: Bundle) -> dict[str, tuple[Observation, ...]]:
    return {case.name: model.trace(case.steps) for case in bundle.cases}


def test_the_seed_profile_is_the_contract_itself() -> None:
    assert profiled(BUNDLE, SEED) == BUNDLE
    assert deviations_of(SEED) == ()


@each_profile
def test_a_service_that_speaks_the_declared_dialect_passes(profile: Profile) -> None:
    bundle = profiled(BUNDLE, profile)
    traces = traces_of(Model(bundle.rules), bundle)
    assert not any(case.differs for case in observed(profile, bundle, traces))


@pytest.mark.parametrize("fault", FAULTS)
@each_profile
def test_each_fault_is_found_and_named_in_every_dialect(profile: Profile, fault: str) -> None:
    bundle = profiled(BUNDLE, profile)
    cases = observed(profile, bundle, traces_of(faulty(fault, bundle.rules), bundle))
    failed = {case.case.name for case in cases if case.differs}
    assert failed
    assert failed <= set(BUNDLE.fault(fault).caught_by)
    assert diagnose(bundle, cases).fault == fault
    assert all(fault in resembling_faults(case, bundle.rules) for case in cases if case.differs)


def test_a_late_expiry_moves_the_ticks_from_the_deadline_on_and_no_other() -> None:
    bundle = profiled(BUNDLE, LATE)
    ticks = {case.name: [step.at for step in case.steps] for case in bundle.cases}
    assert ticks["fixed-expiry"] == [0, 5, 7]
    assert ticks["new-body-after-expiry"] == [0, 7, 8, 9]
    assert ticks["lost-replay"] == [0, 1, 2]


def test_a_record_that_is_gone_at_its_deadline_passes_a_late_expiry_as_well() -> None:
    bundle = profiled(BUNDLE, LATE)
    traces = traces_of(Model(replace(bundle.rules, retention_ticks=6)), bundle)
    assert not any(case.differs for case in observed(LATE, bundle, traces))


def test_every_listed_code_is_accepted_where_it_belongs_and_nowhere_else() -> None:
    profile = Profile("many", create=(200, 201), replay=(200, 208), conflict=(409, 422))
    case = profiled(BUNDLE, profile).cases[1]

    def differs(*statuses: int) -> bool:
        seen = [
            replace(observation, status=status)
            for observation, status in zip(case.expected, statuses, strict=True)
        ]
        return as_expected(profile, case, seen) != case.expected

    assert not differs(201, 422, 208)
    assert not differs(200, 409, 200)
    assert differs(208, 409, 200)
    assert differs(201, 200, 200)
    assert differs(201, 409, 201)


def test_the_same_status_is_that_of_the_answer_that_is_replayed() -> None:
    profile = Profile("same", create=(200, 201), replay="same")
    case = profiled(BUNDLE, profile).cases[0]
    first, second = case.expected

    def differs(created: int, replayed: int) -> bool:
        seen = (replace(first, status=created), replace(second, status=replayed))
        return as_expected(profile, case, seen) != case.expected

    assert not differs(201, 201)
    assert not differs(200, 200)
    assert differs(201, 200)


WAIVERS: dict[str, tuple[str, int, dict[str, int | None]]] = {
    "a second write for a matching retry": ("matching-replay", 1, {"committed_writes": 2}),
    "another receipt": ("matching-replay", 1, {"receipt": 2}),
    "a write for a refused mismatch": ("body-conflict", 1, {"committed_writes": 2}),
    "an original that can't be replayed after a mismatch": ("body-conflict", 2, {"receipt": None}),
    "a deadline that replays move": ("fixed-expiry", 2, {"receipt": 1, "committed_writes": 1}),
}
MOST_LENIENT = Profile(
    "lenient",
    create=tuple(range(100, 400)),
    replay=tuple(range(100, 400)),
    conflict=tuple(range(400, 600)),
    expires_at_deadline=False,
)


@pytest.mark.parametrize("waiver", WAIVERS)
@pytest.mark.parametrize("profile", [*EVERY, MOST_LENIENT], ids=lambda profile: profile.name)
def test_no_profile_waives(profile: Profile, waiver: str) -> None:
    name, step, change = WAIVERS[waiver]
    (case,) = [case for case in profiled(BUNDLE, profile).cases if case.name == name]
    seen = list(case.expected)
    seen[step] = replace(seen[step], **change)
    assert as_expected(profile, case, seen) != case.expected


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"replai": "same"}, "replai is no key of a profile: did you mean replay?"),
        ({"zzz": 1}, "zzz is no key of a profile: known are create, replay"),
        ({"create": "same"}, "create must be status codes 100 to 599."),
        ({"create": []}, "create must be status codes"),
        ({"create": [True]}, "create must be status codes"),
        ({"replay": [99]}, 'replay must be status codes 100 to 599 or "same".'),
        ({"replay": "other"}, "replay must be status codes"),
        ({"conflict": 600}, "conflict must be status codes"),
        ({"conflict": [409, 201]}, "conflict has the code 201, which is a success as well"),
        ({"expires_at_deadline": 1}, "expires_at_deadline must be true or false."),
        ({"retention": 9}, "retention is no key of a profile"),
        ({"\x1b[2J": 9}, "\\x1b[2J is no key of a profile"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_profile_out_of_form_is_refused_with_its_key(
    document: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ProfileError) as caught:
        read_profile("x.toml", document)
    assert str(caught.value).startswith(problem)


def test_a_profile_is_read_as_it_is_written() -> None:
    document = {"create": [200, 201], "replay": "same", "conflict": 422}
    assert read_profile("x.toml", document) == Profile("x.toml", (200, 201), "same", (422,))


@given(histories())
def test_a_dialect_changes_no_write_and_no_receipt(operations: Any) -> None:
    seed = Model(BUNDLE.rules).trace(operations)
    ietf = Model(PROFILES["ietf"].rules(BUNDLE.rules)).trace(operations)
    assert [(o.receipt, o.committed_writes) for o in seed] == [
        (o.receipt, o.committed_writes) for o in ietf
    ]

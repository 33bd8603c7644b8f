"""The contract as data: its traces, its table of faults and cases, and its digest."""

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from retryproof import app, resources
from retryproof.contract.bundle import Case, digest_of, load_bundle
from retryproof.contract.model import FAULTS, REFERENCE, faulty

from tests.bundle import BUNDLE, CASES
from tests.contract import second_model

DOCUMENT = json.loads(resources.read_bytes(app.CONTRACT_FILE))

# The table of the specification: tick, key, value, received or lost -> status, receipt, writes.
SPECIFIED = {
    "matching-replay": "0AAr 201 1 1; 1AAr 200 1 1",
    "body-conflict": "0AAr 201 1 1; 1ABr 409 - 1; 2AAr 200 1 1",
    "lost-create": "0AAl - - 1; 1AAr 200 1 1",
    "fixed-expiry": "0AAr 201 1 1; 5AAr 200 1 1; 6AAr 201 2 2",
    "independent-keys": "0AAr 201 1 1; 1BAr 201 2 2; 2AAr 200 1 2; 3BAr 200 2 2",
    "new-body-after-expiry": "0AAr 201 1 1; 6ABr 201 2 2; 7ABr 200 2 2; 8AAr 409 - 2",
    "lost-replay": "0AAr 201 1 1; 1AAl - - 1; 2AAr 200 1 1",
}


def in_short(case: Case) -> str:
    return "; ".join(
        f"{step.at}{step.key}{step.value}{step.delivery[0]} "
        f"{seen.status or '-'} {seen.receipt or '-'} {seen.committed_writes}"
        for step, seen in zip(case.steps, case.expected, strict=True)
    )


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each scalar in the document."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def changed_at(path: tuple[Any, ...]) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(DOCUMENT)
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    old = parent[path[-1]]
    parent[path[-1]] = old + "x" if isinstance(old, str) else (old or 0) + 1
    return document


def test_the_cases_are_those_of_the_specification() -> None:
    assert {case.name: in_short(case) for case in BUNDLE.cases} == SPECIFIED


@pytest.mark.parametrize("case", BUNDLE.cases, ids=lambda case: case.name)
def test_the_reference_produces_each_expected_trace(case: Case) -> None:
    assert REFERENCE.trace(case.steps) == case.expected
    assert second_model.trace(case.steps) == case.expected


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_exactly_the_cases_of_its_row(fault: str) -> None:
    failed = [c.name for c in BUNDLE.cases if faulty(fault).trace(c.steps) != c.expected]

    assert failed
    assert failed == list(BUNDLE.fault(fault).caught_by)
    assert failed == [
        c.name for c in BUNDLE.cases if second_model.trace(c.steps, fault) != c.expected
    ]


def test_the_faults_of_the_bundle_are_those_of_the_model_in_their_order() -> None:
    assert [fault.name for fault in BUNDLE.faults] == list(FAULTS)


def test_every_case_catches_a_fault_and_no_two_cases_are_alike() -> None:
    caught = {name for fault in BUNDLE.faults for name in fault.caught_by}

    assert caught == set(CASES)
    assert len({case.steps for case in BUNDLE.cases}) == len(BUNDLE.cases)


def test_the_rules_of_the_bundle_are_those_of_the_reference() -> None:
    assert BUNDLE.rules == REFERENCE.rules


def test_the_bundle_says_what_it_does_not_cover() -> None:
    assert BUNDLE.not_covered == (
        "concurrent requests",
        "process crashes",
        "persistence across restarts",
        "clock skew",
        "exactly-once delivery",
    )


def test_the_digest_is_that_of_everything_else_in_canonical_form() -> None:
    content = {name: value for name, value in DOCUMENT.items() if name != "digest"}
    # All names are ASCII and all numbers integers: there the standard library's form is canonical.
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    by_hand = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()

    assert DOCUMENT["digest"] == BUNDLE.digest == digest_of(DOCUMENT) == by_hand


@pytest.mark.parametrize("section", sorted(set(DOCUMENT) - {"digest"}))
def test_the_digest_covers_every_value_in_the_file(section: str) -> None:
    for path in leaves(DOCUMENT[section], (section,)):
        assert digest_of(changed_at(path)) != BUNDLE.digest, path


@pytest.mark.parametrize("section", sorted(set(DOCUMENT) - {"digest"}))
def test_the_digest_covers_the_presence_of_every_section(section: str) -> None:
    rest = {name: value for name, value in DOCUMENT.items() if name != section}

    assert digest_of(rest) != BUNDLE.digest


def test_the_digest_does_not_depend_on_the_order_of_members_or_on_itself() -> None:
    shuffled = {name: DOCUMENT[name] for name in sorted(DOCUMENT, reverse=True)}

    assert digest_of(shuffled | {"digest": "sha256:0"}) == BUNDLE.digest


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"extra": 1}, id="unknown section"),
        pytest.param({"cases": None}, id="no cases"),
        pytest.param({"rules": {"retentionTicks": "6"}}, id="a number as a string"),
    ],
)
def test_a_bundle_of_another_form_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(msgspec.DecodeError):
        load_bundle(json.dumps(DOCUMENT | change).encode())


def test_an_unknown_fault_has_no_description() -> None:
    with pytest.raises(KeyError):
        BUNDLE.fault("no-such-fault")

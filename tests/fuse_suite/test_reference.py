"""The reference adapter for retryfuse, as a module of Python: standard library only, and exact."""

import ast
import importlib.util
import json
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from retryproof.fuse.diagnosis import faulty_answer
from retryproof.fuse.faults import FAULTS
from retryproof.fuse.matrix import REFUSED, Answered, Case

from tests.fuse_suite.driving import MATRIX, REFERENCE
from tests.strategies import repeatable

MAX_SAFE_INTEGER = 2**53 - 1


def load() -> ModuleType:
    specification = importlib.util.spec_from_file_location("fuse_reference", REFERENCE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    argv, sys.argv = sys.argv, [REFERENCE]
    try:
        specification.loader.exec_module(module)
    finally:
        sys.argv = argv
    return module


ADAPTER = load()


def answer(case: Case, fault: str | None) -> Answered:
    """Any other error than the one for malformed inputs fails the test."""
    ADAPTER.fault = fault  # type: ignore[attr-defined]
    try:
        value = json.loads(case.input, parse_float=Decimal)
        return Answered(**ADAPTER.evaluate(value))
    except ADAPTER.MalformedError:
        return REFUSED


def test_it_answers_the_whole_matrix_as_expected() -> None:
    for case in MATRIX.cases:
        assert (case.name, answer(case, None)) == (case.name, case.expected)


@pytest.mark.parametrize("fault", FAULTS)
def test_its_faults_are_the_harnesss_own(fault: str) -> None:
    for case in MATRIX.cases:
        assert (case.name, answer(case, fault)) == (case.name, faulty_answer(fault, case))


def test_it_has_each_fault_that_has_a_name() -> None:
    assert tuple(FAULTS) == ADAPTER.FAULTS


numbers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.floats(
    allow_nan=False, allow_infinity=False
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
bodies = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda children: st.lists(children) | st.dictionaries(texts, children),
    max_leaves=20,
)


@repeatable(300)
@given(bodies)
def test_its_canonical_form_is_that_of_rfc_8785(body: Any) -> None:
    assert ADAPTER.canonical(as_read(body)).encode() == rfc8785.dumps(body)


@repeatable(300)
@given(numbers)
def test_its_numbers_are_those_of_rfc_8785(number: float) -> None:
    assert ADAPTER.canonical(as_read(number)).encode() == rfc8785.dumps(number)


def as_read(body: Any) -> Any:
    return json.loads(json.dumps(body), parse_float=Decimal)


@pytest.mark.parametrize(
    "number", [2**53 + 1, 10**400, Decimal("0.10000000000000000001"), Decimal("1e-400")]
)
def test_a_number_that_a_double_would_change_has_no_canonical_form(number: Any) -> None:
    with pytest.raises(ADAPTER.MalformedError):
        ADAPTER.canonical([number])


def test_it_needs_nothing_but_the_standard_library_and_its_host() -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(Path(REFERENCE).read_text()))
        for name in names_imported_by(node)
    }

    assert imported - {"host"} <= set(sys.stdlib_module_names)


def names_imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []

"""The fingerprint: one for one body, however it is written, and none where digits would be lost."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from retryproof.fuse.fingerprint import (
    MAX_BODY_DEPTH,
    BodyError,
    body_problems,
    canonical_form,
    fingerprint_of,
)
from retryproof.fuse.numerals import Numeral

from tests.fuse.specification import as_doubles
from tests.strategies import json_values, repeatable

numbers = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(-1e-4, 1e-4)
    | st.floats(1e14, 1e22)
    | st.integers(-(2**53), 2**53).map(float)
    | st.integers(-(2**54), 2**54).map(lambda number: number * 4)
    | st.integers(-50, 50)
)
texts = st.text(max_size=3) | st.text("\uffff\U00010000\ue000ab", max_size=3)
bodies = json_values | st.recursive(
    numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@repeatable(500)
@given(bodies)
def test_the_canonical_form_is_that_of_rfc_8785(body: Any) -> None:
    try:
        form = canonical_form(body)
    except BodyError:
        assert list(body_problems(body, ""))
        return
    assert not list(body_problems(body, ""))
    assert form == rfc8785.dumps(as_doubles(body))


def test_the_examples_of_rfc_8785() -> None:
    arbitrary = json.loads(
        '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
        '"string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",'
        '"literals": [null, true, false]}'
    )
    assert canonical_form(arbitrary).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    names = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical_form(names)).values()) == [
        *("Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis"),
        *("Euro Sign", "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh"),
    ]


@pytest.mark.parametrize(
    ("number", "form"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (100.05, "100.05"),
        (1e15, "1000000000000000"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (10**23, "1e+23"),
    ],
)
def test_numbers_as_javascript_writes_them(number: Any, form: str) -> None:
    assert canonical_form(number).decode() == form
    assert canonical_form({"v1.0": [number]}).decode() == f'{{"v1.0":[{form}]}}'


def test_the_fingerprint_is_the_hash_of_the_form() -> None:
    expected = hashlib.sha256(b'{"amount":100,"currency":"EUR"}').hexdigest()

    assert fingerprint_of({"currency": "EUR", "amount": 100.0}) == expected


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("body", "path", "problem"),
    [
        (2**53 + 1, "", "a double would change"),
        ({"a": [1, 10**400]}, "a[1]", "a double would change"),
        ([Numeral("1e999")], "[0]", "a double would change"),
        ([1.5, float("nan")], "[1]", "is not a finite number"),
        (["\ud800"], "[0]", "lone surrogate"),
        ({"x": {"\ud800": 1}}, "x", "name is not a string"),
        ({1: 1}, "", "name is not a string"),
        ([object()], "[0]", "is not a JSON value"),
        (b"bytes", "", "is not a JSON value"),
        (datetime.now(UTC), "", "is not a JSON value"),
        ({"set": {1}}, "set", "is not a JSON value"),
        (nested(MAX_BODY_DEPTH + 1), "[0]" * MAX_BODY_DEPTH, "deeper than 100"),
        (nested(5000), "[0]" * MAX_BODY_DEPTH, "deeper than 100"),
    ],
)
def test_bodies_without_a_fingerprint(body: Any, path: str, problem: str) -> None:
    with pytest.raises(BodyError, match=problem) as raised:
        fingerprint_of(body)
    assert raised.value.path == path


def test_a_body_may_be_as_deep_as_the_input_allows() -> None:
    assert canonical_form(nested(MAX_BODY_DEPTH)) == b"[" * 98 + b"1" + b"]" * 98


def test_every_problem_of_a_body_is_found() -> None:
    body = {"a": [2**53 + 1, 1, Numeral("1e999")], "b": 2**53 + 3}

    assert [path for path, _ in body_problems(body, "body")] == ["body.a[0]", "body.a[2]", "body.b"]

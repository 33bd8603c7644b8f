"""Numbers keep every digit: as they are read, summed, compared and written."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.fuse import Report, encode, evaluate_json
from retryproof.fuse.numerals import (
    LARGEST_NUMBER,
    MAX_NUMERAL_CHARACTERS,
    Numeral,
    as_integer,
    as_number,
    at_least,
    double_of,
    exact,
    exact_sum,
    read_number,
    shown,
)

from tests.fuse.strategies import amounts, encoded
from tests.strategies import repeatable

digits = st.text("0123456789", min_size=1, max_size=25)
numerals = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{int(whole)}.{fraction}{exponent}",
    st.sampled_from(["", "-"]),
    digits,
    digits,
    st.just("") | st.integers(-340, 330).map("e{}".format) | st.sampled_from(["E+5", "e-0"]),
)


@repeatable(500)
@given(numerals)
def test_a_number_is_read_as_a_double_or_kept_as_written(text: str) -> None:
    number = read_number(text)

    if isinstance(number, float):
        assert Fraction(text) == Fraction(repr(number))
    else:
        assert number == Numeral(text)
        double = float(text)
        assert abs(double) > LARGEST_NUMBER or Fraction(text) != Fraction(repr(double))


@pytest.mark.parametrize(
    ("text", "survives"),
    [
        ("0.0", True),
        ("-0.0", True),
        ("0e99999999999999999999", True),
        ("0.1", True),
        ("1e23", True),
        ("1.7976931348623157e308", True),
        ("5e-324", True),
        ("100000.0000000000", True),
        ("0.3000000000000000444", False),
        ("9007199254740993.0", False),
        ("1e309", False),
        ("-1e309", False),
        ("1e99999999999999999999", False),
        ("4e-325", False),
        ("1e-99999999999999999999", False),
        ("0.1000000000000000055511151231257827021181583404541015625", False),
    ],
)
def test_survivors(text: str, survives: bool) -> None:
    assert isinstance(read_number(text), float) == survives


def test_what_is_out_of_range_or_endless_is_no_number() -> None:
    longest = "0." + "1" * (MAX_NUMERAL_CHARACTERS - 2)

    assert as_number(Numeral(longest)) == Decimal(longest)
    for text in (longest + "1", "1e309", "-1e309", "1e-400", "1e99999999999999999999"):
        assert as_number(Numeral(text)) is None
    for other in (True, None, "1", [1]):
        assert as_number(other) is None


@pytest.mark.parametrize(
    ("value", "integer"),
    [
        *[(5, 5), (5.0, 5), (1e23, 10**23), (2**70, 2**70), (5.5, None), (True, None), ("5", None)],
        (Numeral("9007199254740993.0"), 2**53 + 1),
        (Numeral("1.00000000000000000001"), None),
    ],
)
def test_integers(value: Any, integer: int | None) -> None:
    assert as_integer(value) == integer


@repeatable(500)
@given(st.integers(0, 10**20), st.lists(amounts, max_size=12))
def test_sums_are_exact(whole: int, costs: list[Any]) -> None:
    total = whole + sum((Fraction(str(cost)) for cost in costs), Fraction(0))

    spent = exact_sum(whole, costs)

    assert Fraction(str(spent)) == min(total, Fraction(repr(LARGEST_NUMBER)))


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([0.1] * 10, 1),
        ([0.1, 0.2], 0.3),
        ([0.1, 0.7], 0.8),
        ([1e-7] * 10**4, 0.001),
        ([1e-300], 1e-300),
        ([1e300, 1e-7], Decimal("1" + "0" * 300 + ".0000001")),
        ([999999999.999999, 0.000001], 10**9),
        ([Decimal("0.10000000000000000001")] * 10, Decimal("1.0000000000000000001")),
        ([1e308] * 100, 1.7976931348623157e308),
        ([-0.0], 0),
    ],
)
def test_sums(costs: list[Any], total: Any) -> None:
    assert exact_sum(0, costs) == total
    assert type(exact_sum(0, costs)) is type(total)


def test_a_sum_of_more_digits_than_a_double_has() -> None:
    assert exact_sum(10**20, [0.000001]) == Decimal("100000000000000000000.000001")
    assert exact_sum(10**15, [0.3, 0.4]) == Decimal("1000000000000000.7")


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), True, "1", None, Numeral("1")])
def test_no_sum_of_anything_else(cost: Any) -> None:
    with pytest.raises(ValueError, match="finite number from 0"):
        exact_sum(1, [0.5, cost])


@repeatable(500)
@given(amounts)
def test_what_is_shown_is_the_same_number(number: Any) -> None:
    assert Fraction(str(shown(number))) == Fraction(str(number))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        *[(5, "5"), (-0.0, "0"), (100.0, "100"), (0.5, "0.5"), (Decimal("2.50"), "2.5")],
        *[(1e20, "100000000000000000000"), (1e21, "1e21"), (10**21, "1e21")],
        (10**21 + 1, "1000000000000000000001"),
        (Decimal("0.10000000000000000001"), "0.10000000000000000001"),
    ],
)
def test_how_it_is_shown(number: Any, expected: str) -> None:
    assert encoded(shown(number)).decode() == expected


@repeatable(500)
@given(amounts, amounts)
def test_comparisons_are_exact(number: Any, limit: Any) -> None:
    expected = Fraction(str(number)) >= Fraction(str(limit))

    assert at_least(shown(number), shown(limit)) == expected
    assert at_least(shown(number), shown(number))


@repeatable(300)
@given(st.integers(-(2**80), 2**80) | st.integers(0, 330).map(lambda power: 10**power))
def test_the_double_of_an_integer_prints_as_it(integer: int) -> None:
    double = double_of(integer)

    if double is None:
        assert integer > LARGEST_NUMBER or Decimal(repr(float(integer))) != integer
    else:
        assert exact(double) == integer


def test_a_report_keeps_the_digits_too() -> None:
    report = evaluate_json(
        b'{"operation":{"endpoint":"e"},"attempts":[{"costUnits":0.10000000000000000001},'
        b'{"costUnits":9007199254740993}],"policy":{"budgetUnits":90071992547409930000.5}}'
    )
    assert isinstance(report, Report)

    circuit = json.loads(encode(report), parse_float=Decimal)["circuit"]

    assert circuit["spentUnits"] == Decimal("9007199254740993.10000000000000000001")
    assert circuit["budgetUnits"] == Decimal("90071992547409930000.5")

"""Numbers as they were written: no digit is lost to a double without anybody noticing.

A number "survives" a double if the shortest way to write that double is the number again:
0.1 does, 9007199254740993 and 0.10000000000000000001 do not. An int is always exact; a float
stands for the decimal number that it prints as.
"""

from collections.abc import Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import reduce
from typing import Any, TypeAlias

from msgspec import Struct

Number: TypeAlias = int | float | Decimal

LARGEST_NUMBER = 1.7976931348623157e308
"""What no finite double exceeds. A number beyond it is Infinity to most readers of JSON."""

MAX_NUMERAL_CHARACTERS = 1000
"""A longer numeral than that measures nothing; without a limit, sums would grow with them."""

_LARGEST = Decimal(repr(LARGEST_NUMBER))
_NUMBER_TYPES = frozenset({int, float, Decimal})
_PLAIN_LIMIT = 10**21
"""From here on integers are shown with an exponent, as JavaScript does."""

# Every double keeps 15 digits, within this range: the number that it prints as has no more.
_SURE_CHARACTERS = 16
_SURE_INTEGER = 10**15
_SURE_SMALLEST, _SURE_LARGEST = 1e-290, 1e290
_MILLION = 10**6
_FEW = 1e9

# Room for the sum of any numbers that may be read; a digit too many would be an error, not lost.
_EXACT = Context(prec=10_000, traps=[Inexact, InvalidOperation])


class Numeral(Struct, frozen=True, array_like=True, gc=False):
    """A JSON number that a double would change, as written."""

    text: str


def read_number(text: str) -> float | Numeral:
    """The double that keeps the number written in `text`, or else its numeral."""
    value = float(text)
    if len(text) <= _SURE_CHARACTERS and _SURE_SMALLEST < abs(value) < _SURE_LARGEST:
        return value
    return value if _survives(text, value) else Numeral(text)


def exact_value(numeral: Numeral) -> Decimal | None:
    """The number as written; None if it is out of a double's range, or far too long."""
    value = float(numeral.text)
    if abs(value) > LARGEST_NUMBER or value == 0 or len(numeral.text) > MAX_NUMERAL_CHARACTERS:
        return None
    return Decimal(numeral.text)


def double_of(integer: int) -> float | None:
    """The double that prints as exactly this integer, if there is one."""
    try:
        double = float(integer)
    except OverflowError:
        return None
    return double if Decimal(repr(double)) == integer else None


def exact(number: Number) -> int | Decimal:
    """The number that is meant, in a type that computes exactly."""
    return Decimal(repr(number)) if isinstance(number, float) else number


def is_amount(number: Any) -> bool:
    """Whether this is a finite number from 0."""
    return type(number) in _NUMBER_TYPES and 0 <= number <= LARGEST_NUMBER


def exact_sum(whole: int, amounts: Sequence[Number]) -> Number:
    """The sum, with no rounding anywhere: ten times 0.1 is 1. In the form of `shown`.

    Raises:
        ValueError: one of the amounts is not a finite number from 0.
    """
    millionths = whole * _MILLION
    # Up to 15 digits there is one double for a decimal number: the quotient is that double.
    for amount in amounts:
        if type(amount) is not float or not 0 <= amount < _FEW:
            return _exact_sum_of_any(whole, amounts)
        scaled = round(amount * _MILLION)
        if scaled / _MILLION != amount:
            return _exact_sum_of_any(whole, amounts)
        millionths += scaled
    if millionths >= _SURE_INTEGER:
        return _exact_sum_of_any(whole, amounts)
    return millionths / _MILLION if millionths % _MILLION else millionths // _MILLION


def shown(number: Number) -> Number:
    """The same number in the form in which to show it.

    An int if it is one that is not too long, else a float if that keeps it, else a Decimal. A
    sum beyond every double is shown as the largest one, so that each reader of JSON can read it.
    """
    if type(number) is int and number < _PLAIN_LIMIT:
        return number
    if type(number) is float and number < _SURE_INTEGER:
        return int(number) if number.is_integer() else number
    value = min(Decimal(exact(number)), _LARGEST)
    if value < _PLAIN_LIMIT and value == value.to_integral_value():
        return int(value)
    double = float(value)
    return double if exact(double) == value else _EXACT.normalize(value)


def at_least(number: Number, limit: Number) -> bool:
    """Whether a number, as shown, reaches a limit, as shown.

    A sum beyond every double is shown cut, but it still reaches each possible limit.
    """
    # Floats compare as the numbers do that they print as. A Decimal would be compared with what
    # the float is in binary.
    if type(number) is Decimal or type(limit) is Decimal:
        return exact(number) >= exact(limit)
    return number >= limit


def as_number(value: Any) -> int | Decimal | None:
    """The exact number that a decoded value is; None if it is none, or none to compute with."""
    if isinstance(value, Numeral):
        return exact_value(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return exact(value)
    return None


def as_integer(value: Any) -> int | None:
    """The integer that a decoded value is: 1, 1.0 and 1e0 alike; None if it is none."""
    number = as_number(value)
    if isinstance(number, Decimal):
        return int(number) if number == number.to_integral_value() else None
    return number


def _exact_sum_of_any(whole: int, amounts: Sequence[Number]) -> Number:
    if not all(map(is_amount, amounts)):
        raise ValueError("an amount must be a finite number from 0")
    return shown(reduce(_EXACT.add, map(exact, amounts), Decimal(whole)))


def _survives(text: str, value: float) -> bool:
    if value == 0:
        return text.lower().partition("e")[0].strip("-0.") == ""
    return abs(value) <= LARGEST_NUMBER and Decimal(text) == Decimal(repr(value))

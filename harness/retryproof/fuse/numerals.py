"""Numbers as they were written: no digit is lost to a double without anybody noticing.

A number "survives" a double if the shortest way to write that double is the number again:
0.1 does, 9007199254740993 and 0.10000000000000000001 do not. An int is always exact; a float
stands for the decimal number that it prints as.
"""

from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache, reduce
from typing import Any, TypeAlias, cast

from msgspec import Struct

Number: TypeAlias = int | float | Decimal

LARGEST_NUMBER = 1.7976931348623157e308
"""What no finite double exceeds. A number beyond it is Infinity to most readers of JSON."""

MAX_NUMERAL_CHARACTERS = 1000
"""A longer numeral than that measures nothing; without a limit, sums would grow with them."""

_ZERO = Decimal(0)
_LARGEST = Decimal(repr(LARGEST_NUMBER))
_SURE_CHARACTERS = 16
"""A point and 15 digits: as many as every double keeps, within the range that follows."""
_SURE_SMALLEST, _SURE_LARGEST = 1e-290, 1e290
_PLAIN_LIMIT = 10**21
"""From here on integers are shown with an exponent, as JavaScript does."""

_REMEMBERED_NUMBERS = 4096
"""The same costs and sums come again and again, and are slow to make of digits."""

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


@lru_cache(maxsize=_REMEMBERED_NUMBERS, typed=True)
def exact(number: Number) -> int | Decimal:
    """The number that is meant, in a type that computes exactly."""
    return Decimal(repr(number)) if isinstance(number, float) else number


def exact_sum(numbers: Iterable[Number]) -> int | Decimal:
    """The sum, with no rounding anywhere: ten times 0.1 is 1.

    Raises:
        ArithmeticError: it would need more than 10,000 digits.
    """
    return reduce(_EXACT.add, map(exact, numbers), _ZERO)


@lru_cache(maxsize=_REMEMBERED_NUMBERS, typed=True)
def shown(number: Number) -> int | Decimal:
    """The same number in the form in which to show it: an integer as one, no trailing zeros.

    A sum beyond every double is shown as the largest one, so that each reader of JSON can
    read it.
    """
    value = exact(number)
    if value < _PLAIN_LIMIT:
        integer = int(value)
        return integer if integer == value else _EXACT.normalize(cast("Decimal", value))
    return _EXACT.normalize(min(Decimal(value), _LARGEST))


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


def _survives(text: str, value: float) -> bool:
    if value == 0:
        return text.lower().partition("e")[0].strip("-0.") == ""
    return abs(value) <= LARGEST_NUMBER and Decimal(text) == Decimal(repr(value))

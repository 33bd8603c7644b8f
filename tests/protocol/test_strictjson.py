"""Strict JSON: what every reader reads alike, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof_protocol.strictjson import (
    StrictJSONError,
    decode,
    element_path,
    member_path,
)

from tests.hostile import HOSTILE
from tests.protocol.strict_reader import RefusedError, read
from tests.strategies import json_values, repeatable

REFUSED = object()
"""Equal to nothing that JSON holds."""


def decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except StrictJSONError:
        return REFUSED


def second_opinion(data: bytes) -> Any:
    try:
        return read(data)
    except RefusedError:
        return REFUSED


def assert_same(first: Any, second: Any) -> None:
    """Alike to the last detail: 1 is not 1.0 here, and True is not 1."""
    assert repr(first) == repr(second)


@repeatable(300)
@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_what_a_json_writer_writes_decodes_to_the_same(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    assert_same(decode(text.encode()), value)


FRAGMENTS = [
    *(b"{", b"}", b"[", b"]", b":", b",", b" ", b"\n", b"\t", b"\x0c", b"\x00", b"\xef\xbb\xbf"),
    *(b'"a"', b'"b:"', b'"\\u0061"', b'""', b'"', b"\\", b"'a'", b"/*"),
    *(b"0", b"1", b"-", b"+", b".", b".5", b"e1", b"E-2", b"00", b"1e999", b"NaN", b"Infinity"),
    *(b"true", b"null", b"fals", b"\\ud83d", b"\\ude00", b'"\\ud800"', b"\xc3\xa9", b"\xff"),
    *(b'{"a":1}', b'{"a":1,"a":2}', b'{"a":":","a":1}', b'[{"":0}]', b'"\xf0\x9f\x98\x80"'),
]


@repeatable(500)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map(b"".join))
def test_any_fragments_of_json_are_judged_as_by_a_second_reader(data: bytes) -> None:
    assert_same(decoded(data), second_opinion(data))


@repeatable(500)
@given(st.data(), json_values)
def test_a_damaged_text_is_judged_as_by_a_second_reader(data: st.DataObject, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    at = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, 2))
    added = data.draw(st.sampled_from([b"", *FRAGMENTS]) | st.binary(max_size=2))

    damaged = text[:at] + added + text[at + removed :]

    assert_same(decoded(damaged), second_opinion(damaged))


@repeatable(300)
@given(st.binary(max_size=64))
def test_random_bytes_decode_or_are_refused_with_one_error_and_no_other(data: bytes) -> None:
    assert_same(decoded(data), second_opinion(data))


@st.composite
def texts_with_a_repeat(draw: st.DrawFn) -> tuple[bytes, str]:
    """A text with one repeated member somewhere, and that member's path."""
    name = draw(st.sampled_from(["a", "at", "key", "a:b"]))
    first, second = (json.dumps(draw(json_values)) for _ in range(2))
    text, path = f'{{"{name}":{first},"z":":","{name}":{second}}}', name
    for _ in range(draw(st.integers(0, 5))):
        outer = draw(st.sampled_from(["steps", "b", None]))
        if outer is None:
            before = draw(st.integers(0, 2))
            separator = "" if path.startswith("[") else "."
            text, path = f"[{'0,' * before}{text}]", f"[{before}]{separator}{path}"
        else:
            separator = "" if path.startswith("[") else "."
            text, path = f'{{"y":[],"{outer}":{text}}}', f"{outer}{separator}{path}"
    return text.encode(), path


@repeatable(300)
@given(texts_with_a_repeat())
def test_a_repeated_member_is_found_at_any_depth_with_its_path(case: tuple[bytes, str]) -> None:
    text, path = case

    with pytest.raises(StrictJSONError) as caught:
        decode(text)

    assert caught.value.path == path
    assert caught.value.problem == "is there twice"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"a":1,"a":1}', id="equal values"),
        pytest.param(b'{"a":1,"\\u0061":2}', id="one as an escape"),
        pytest.param(b'{"a":":","a":":"}', id="as many colons as in strings"),
        pytest.param(b'{"a":{"b":1},"a":{}}', id="objects"),
        pytest.param(b'{"a":{"b":1,"c":":"},"a":1}', id="the lost one held colons"),
        pytest.param(b'{"\\u003a":1,"a":1,"a":2}', id="beside a colon as an escape"),
        pytest.param(b'{"a":"\\u003a\\u003a","a":2}', id="colons as escapes"),
        pytest.param(b'{"":1,"":2}', id="the empty name"),
        pytest.param(b'[[[{"a":1,"b":2,"a":3}]]]', id="in arrays"),
    ],
)
def test_a_repeated_member_cannot_hide(text: bytes) -> None:
    with pytest.raises(StrictJSONError, match="is there twice"):
        decode(text)


@pytest.mark.parametrize(
    ("data", "problem"), [pytest.param(*row, id=name) for name, row in HOSTILE.items()]
)
def test_hostile_bytes_are_refused_with_a_reason(data: bytes, problem: str) -> None:
    with pytest.raises(StrictJSONError) as caught:
        decode(data)

    assert caught.value.path == ""
    assert caught.value.problem.startswith(problem)
    assert str(caught.value) == f"the text {caught.value.problem}"
    assert len(caught.value.problem) < 200


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b'"\\ud83d\\ude00"', "\N{GRINNING FACE}", id="a pair of surrogates"),
        pytest.param(b'"\\u0000"', "\0", id="an escaped NUL"),
        pytest.param(b'"\x7f"', "\x7f", id="delete"),
        pytest.param(b"-0", 0, id="minus zero"),
        pytest.param(b"-0.0", -0.0, id="minus zero as a fraction"),
        pytest.param(b"1e-999", 0.0, id="below the smallest float"),
        pytest.param(b"1E+2", 100.0, id="an exponent"),
        pytest.param(b"18446744073709551616", 2**64, id="beyond 64 bits"),
        pytest.param(b'[":",18446744073709551616]', [":", 2**64], id="beside a colon"),
        pytest.param(b"0.1000000000000000055511151231257827", 0.1, id="more digits than a float"),
        pytest.param(b" \r\n\t[ ] ", [], id="every kind of space"),
        pytest.param(b'{"a":{"a":{"a":1}}}', {"a": {"a": {"a": 1}}}, id="a name at each level"),
        pytest.param(b'{"a:b":":","c":"::"}', {"a:b": ":", "c": "::"}, id="colons in strings"),
        pytest.param(b'{"__proto__":1}', {"__proto__": 1}, id="a name that other languages fear"),
    ],
)
def test_unusual_json_is_json(data: bytes, value: Any) -> None:
    assert_same(decode(data), value)


@pytest.mark.parametrize("opening", [b"", b'":",', b'"\\u003a",'], ids=["plain", "colon", "escape"])
def test_nesting_that_a_person_could_have_written_is_read(opening: bytes) -> None:
    depth = 400

    value = decode(b"[" + opening + b"[" * depth + b"]" * depth + b"]")

    for _ in range(depth):
        assert isinstance(value, list)
        value = value[-1]
    assert value == []


@pytest.mark.parametrize(
    "text", [b'{"a":1.50}', b'{"b":":","a":1.50}', b'{"b":"\\u003a","a":1.50}']
)
def test_a_number_with_a_fraction_can_be_kept_as_its_digits(text: bytes) -> None:
    value = decode(text, float_hook=lambda digits: f"<{digits}>")

    assert isinstance(value, dict)
    assert value["a"] == "<1.50>"


def test_a_path_reads_like_code() -> None:
    assert member_path("", "steps") == "steps"
    assert element_path("steps", 3) == "steps[3]"
    assert member_path(element_path("steps", 3), "at") == "steps[3].at"
    assert element_path("", 0) == "[0]"

"""Placeholders, pointers and receipts."""

import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.http_adapter.pointer import (
    Header,
    JSONPointer,
    NoPointerError,
    NotThereError,
    parse_pointer,
    parse_where,
    resolve,
)
from retryproof.http_adapter.receipts import Receipts
from retryproof.http_adapter.templates import (
    STEP_PLACEHOLDERS,
    JSONValue,
    Values,
    fill,
    fill_text,
    key_uuid,
    placeholders,
    step_values,
)
from retryproof_protocol.messages import Operation

VALUES: Values = {"key": "A", "value": "B", "at": 5, "key_uuid": "u", "delivery": "lost"}
SEEDS = st.binary(min_size=16, max_size=16)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(), parts, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{key}{value}{at}{key_uuid}{delivery}", "AB5ulost"),
        ("{at}", 5),
        (" {at}", " 5"),
        ({"now": "{at}", "list": ["{at}", "tick {at}", 1, None, True]}, None),
        ({"{key}": {"{value}": "{value}"}}, {"A": {"B": "B"}}),
        ("{ key } {{}} {1} {} {", "{ key } {{}} {1} {} {"),
        ('query { orders { count } } {"a":1}', 'query { orders { count } } {"a":1}'),
        (1.5, 1.5),
        (None, None),
    ],
)
def test_placeholders_are_filled_and_other_braces_are_text(
    template: JSONValue, filled: JSONValue
) -> None:
    if isinstance(template, dict) and "now" in template:
        filled = {"now": 5, "list": [5, "tick 5", 1, None, True]}
    assert fill(template, VALUES) == filled


def test_a_number_is_text_outside_of_json() -> None:
    assert fill_text("{at}", VALUES) == "5"


def test_placeholders_are_found_anywhere() -> None:
    template: JSONValue = {"{a}": ["{b}", {"c": "{d} {e_f}"}], "g": 1}
    assert list(placeholders(template)) == ["a", "b", "d", "e_f"]


def test_every_placeholder_has_a_value() -> None:
    operation = Operation(at=3, key="A", value="B", delivery="received")
    values = step_values(operation, b"seed")
    assert tuple(values) == STEP_PLACEHOLDERS
    assert values["at"] == 3


@given(SEEDS)
def test_a_key_has_one_uuid_in_a_case(seed: bytes) -> None:
    assert key_uuid("A", seed) == key_uuid("A", seed) != key_uuid("B", seed)
    assert uuid.UUID(key_uuid("A", seed)).version == 4


@given(SEEDS, SEEDS)
def test_a_key_has_another_uuid_in_another_case(seed: bytes, other: bytes) -> None:
    assert (key_uuid("A", seed) == key_uuid("A", other)) == (seed == other)


RFC_DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_rfc_6901(pointer: str, value: object) -> None:
    assert resolve(parse_pointer(pointer), RFC_DOCUMENT) == value


@pytest.mark.parametrize(
    ("pointer", "document", "words"),
    [
        ("/id", {}, "the whole of it is an empty object"),
        ("/id", {"a": 1, "b": 2}, "the whole of it is an object with a, b"),
        ("/a/b", {"a": None}, "/a is null"),
        ("/a/b/c", {"a": {"b": "text"}}, '/a/b is the string "text"'),
        ("/a/b", {"a": 1.5}, "/a is the number 1.5"),
        ("/a/b", {"a": True}, "/a is true"),
        ("/a/2", {"a": [0, 1]}, "/a is an array of 2"),
        ("/a/-", {"a": [0, 1]}, "/a is an array of 2"),
        ("/a/01", {"a": [0, 1]}, "/a is an array of 2"),
        ("/a/-1", {"a": [0, 1]}, "/a is an array of 2"),
        (f"/{'9' * 5000}", [1], "the whole of it is an array of 1"),
        ("/0", "text", 'the whole of it is the string "text"'),
        (
            "/z",
            dict.fromkeys("abcdefghij", 1),
            "the whole of it is an object with a, b, c, d, e, f, g, h, ...",
        ),
        ("/z", "y" * 100, f'the whole of it is the string "{"y" * 60}..."'),
    ],
)
def test_what_is_there_instead(pointer: str, document: JSONValue, words: str) -> None:
    with pytest.raises(NotThereError) as caught:
        resolve(parse_pointer(pointer), document)
    assert str(caught.value) == words


@pytest.mark.parametrize("text", ["id", "~", "/~", "/~2", "/a~", "header:", "header:a b"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(NoPointerError):
        parse_where(text)


def test_a_header_is_a_place() -> None:
    assert parse_where("header:X-Order-Id") == Header("x-order-id")


@given(JSON, st.data())
def test_a_pointer_made_from_a_path_leads_along_it(document: Any, data: st.DataObject) -> None:
    value, text = document, ""
    while isinstance(value, list | dict) and value and data.draw(st.booleans()):
        step = data.draw(
            st.sampled_from(range(len(value)) if isinstance(value, list) else [*value])
        )
        value = value[step]
        text += "/" + str(step).replace("~", "~0").replace("/", "~1")
    assert resolve(parse_pointer(text), document) is value
    assert parse_where(text) == parse_pointer(text)
    assert isinstance(parse_where(text), JSONPointer)


IDENTIFIERS = st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.lists(IDENTIFIERS, unique_by=json.dumps))
def test_a_correct_service_has_its_receipts_counted_in_order(names: list[int | str]) -> None:
    receipts = Receipts()
    for writes, name in enumerate(names):
        assert receipts.ordinal(name, writes, writes + 1) == writes + 1
        assert receipts.ordinal(name, writes + 1, writes + 1) == writes + 1
    assert [receipts.known(name) for name in names] == list(range(1, len(names) + 1))


@given(st.lists(st.tuples(IDENTIFIERS, st.integers(0, 2))))
def test_whatever_a_service_does_a_receipt_keeps_its_ordinal_and_shares_it_with_none(
    answers: list[tuple[int | str, int]],
) -> None:
    receipts, writes = Receipts(), 0
    seen: dict[str, int] = {}
    for name, more in answers:
        ordinal = receipts.ordinal(name, writes, writes + more)
        assert ordinal >= 1
        assert seen.setdefault(json.dumps(name), ordinal) == ordinal
        writes += more
    assert len(set(seen.values())) == len(seen)


def test_receipts_of_services_that_are_not_correct() -> None:
    receipts = Receipts()
    assert receipts.known("a") is None
    assert receipts.ordinal("a", 0, 1) == 1
    # A new receipt without a write is none of the writes.
    assert receipts.ordinal("b", 1, 1) == 2
    # The second write; its ordinal has been given away.
    assert receipts.ordinal("c", 1, 2) == 3
    # A write that no answer named, and then an answer that can mean no other.
    assert receipts.ordinal("a", 2, 4) == 1
    assert receipts.ordinal("d", 4, 4) == 4
    # The string and the number are two receipts.
    assert receipts.ordinal("1", 4, 5) == 5
    assert receipts.ordinal(1, 5, 6) == 6


def test_the_answer_to_the_first_request_was_lost_in_earnest() -> None:
    assert Receipts().ordinal("a", 1, 1) == 1

"""What somebody else's program wrote is shown, and never obeyed, by a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof_protocol.quoting import DEFAULT_SHOWN_BYTES, escape_controls, quote_start

from tests.strategies import repeatable

INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control, format (bidirectional ones included), surrogate, private, unassigned, line ends."""

any_text = st.text(st.characters(exclude_categories=[]), max_size=40)
nasty_text = st.text(
    st.characters(categories=["Cc", "Cf", "Zl", "Zp"])
    | st.sampled_from("a\\\"'\u202e\u2066\x1b\x9b"),
    max_size=40,
)


def is_harmless(text: str) -> bool:
    return not any(unicodedata.category(character) in INVISIBLE for character in text)


@repeatable(300)
@given(any_text | nasty_text)
def test_no_control_format_or_bidirectional_character_gets_through(text: str) -> None:
    escaped = escape_controls(text)

    assert is_harmless(escaped)
    escaped.encode("utf-8")


@repeatable(300)
@given(st.binary(max_size=300) | nasty_text.map(str.encode), st.integers(0, 200))
def test_no_byte_gets_through_raw(data: bytes, limit: int) -> None:
    quoted = quote_start(data, limit)

    assert is_harmless(quoted)
    assert quoted.isprintable()


@repeatable(100)
@given(st.text(st.characters(categories=["L", "N", "P", "S", "M", "Zs"])))
def test_text_that_can_be_seen_is_left_as_it_is(text: str) -> None:
    assert escape_controls(text) == text


@repeatable(100)
@given(any_text, st.sampled_from(["", "\n", "\n\t"]))
def test_only_the_characters_to_be_kept_are_kept(text: str, keep: str) -> None:
    escaped = escape_controls(text, keep)

    assert {c for c in escaped if not is_harmless(c)} == set(text) & set(keep)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        pytest.param("plain, caf\N{LATIN SMALL LETTER E WITH ACUTE}", "plain, caf\xe9", id="text"),
        pytest.param("a\nb\r\tc", "a\\nb\\r\\tc", id="short escapes"),
        pytest.param("\x1b[31m", "\\x1b[31m", id="colour"),
        pytest.param("\x00\x7f\x9b", "\\x00\\x7f\\x9b", id="control characters"),
        pytest.param("\u202etxt", "\\u202etxt", id="bidirectional override"),
        pytest.param("\u2066\u2069", "\\u2066\\u2069", id="bidirectional isolates"),
        pytest.param("\u2028\u2029", "\\u2028\\u2029", id="line and paragraph separators"),
        pytest.param("\ufeff\u200b", "\\ufeff\\u200b", id="invisible characters"),
        pytest.param("\ud800", "\\ud800", id="surrogate"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag character"),
        pytest.param("\ue000", "\\ue000", id="private use"),
    ],
)
def test_an_escape_names_the_character(text: str, escaped: str) -> None:
    assert escape_controls(text) == escaped


@pytest.mark.parametrize(
    ("data", "quoted"),
    [
        pytest.param(b"", '""', id="nothing"),
        pytest.param(b"hello", '"hello"', id="text"),
        pytest.param(b"\xff\xc0", '"\\xff\\xc0"', id="no UTF-8"),
        pytest.param("\N{SNOWMAN}".encode(), '"\N{SNOWMAN}"', id="UTF-8"),
        pytest.param(b"12345", '"12345"', id="exactly the limit"),
        pytest.param(b"123456", '"12345" (and 1 bytes more)', id="one over the limit"),
        pytest.param(
            b"12345" + b"6" * 1234567, '"12345" (and 1,234,567 bytes more)', id="far over"
        ),
        pytest.param(
            b"1234\xe2\x98\x83", '"1234\\xe2" (and 2 bytes more)', id="cut in a character"
        ),
    ],
)
def test_the_start_is_quoted_and_the_rest_is_counted(data: bytes, quoted: str) -> None:
    assert quote_start(data, 5) == quoted


def test_a_quote_is_short_whatever_was_written() -> None:
    assert len(quote_start(b"\x00" * 10**6)) < 4 * DEFAULT_SHOWN_BYTES + 40

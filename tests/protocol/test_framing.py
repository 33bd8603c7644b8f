"""Lines out of a byte stream: the same ones however the bytes were split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof_protocol.framing import MAX_LINE_BYTES, LineSplitter, LineTooLongError

from tests.strategies import chunkings, repeatable


def split(*chunks: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines in the chunks, and what is left after the last of them."""
    splitter = LineSplitter()
    lines = []
    for chunk in chunks:
        splitter.feed(chunk)
        while (line := splitter.next_line()) is not None:
            lines.append(line)
    return lines, splitter.unfinished


def longest_line_accepted(length: int, end: bytes, chunks: int) -> bool:
    data = b"x" * length + end
    size = -(-len(data) // chunks)
    try:
        lines, unfinished = split(*(data[at : at + size] for at in range(0, len(data), size)))
    except LineTooLongError:
        return False
    assert b"".join(lines) + unfinished == data.rstrip(b"\r\n") or not lines
    return True


streams = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"bc", b"", b"\x00", b"\xff", b'{"a":1}']),
    max_size=12,
).map(b"".join)


@repeatable(200)
@given(st.data(), streams)
def test_any_split_of_the_bytes_gives_the_same_lines(data: st.DataObject, stream: bytes) -> None:
    chunks = data.draw(chunkings(stream))

    assert split(*chunks) == split(stream)


@repeatable(200)
@given(streams)
def test_lines_are_what_stands_between_line_ends(stream: bytes) -> None:
    *whole, rest = stream.split(b"\n")

    lines, unfinished = split(stream)

    assert lines == [line[:-1] if line.endswith(b"\r") else line for line in whole]
    assert unfinished == rest


@pytest.mark.parametrize(
    ("stream", "lines", "unfinished"),
    [
        pytest.param(b"", [], b"", id="nothing"),
        pytest.param(b"\n", [b""], b"", id="blank line"),
        pytest.param(b"\r\n", [b""], b"", id="blank line with a carriage return"),
        pytest.param(b"a\r\nb\n", [b"a", b"b"], b"", id="both line ends"),
        pytest.param(b"a\r\r\n", [b"a\r"], b"", id="only one carriage return is forgiven"),
        pytest.param(b"a\rb\n", [b"a\rb"], b"", id="carriage return inside a line"),
        pytest.param(b"a\nb", [b"a"], b"b", id="no end"),
        pytest.param(b"a\r", [], b"a\r", id="half a line end"),
    ],
)
def test_a_line_loses_its_end_and_nothing_else(
    stream: bytes, lines: list[bytes], unfinished: bytes
) -> None:
    assert split(stream) == (lines, unfinished)


@pytest.mark.parametrize("chunks", [1, 2, 7, 1024])
@pytest.mark.parametrize(
    ("over", "end", "accepted"),
    [
        pytest.param(-1, b"\n", True, id="one under"),
        pytest.param(0, b"\n", True, id="at the limit"),
        pytest.param(0, b"\r\n", True, id="at the limit, carriage return"),
        pytest.param(1, b"\n", False, id="one over"),
        pytest.param(1, b"\r\n", False, id="one over, carriage return"),
        pytest.param(2, b"\n", False, id="two over"),
        pytest.param(0, b"", True, id="at the limit, no end yet"),
        pytest.param(0, b"\r", True, id="at the limit, half an end"),
        pytest.param(2, b"", False, id="two over, no end needed"),
        pytest.param(1, b"\r", False, id="one over, half an end"),
    ],
)
def test_the_limit_of_a_line_is_exact_and_leaves_its_end_out(
    over: int, end: bytes, accepted: bool, chunks: int
) -> None:
    assert longest_line_accepted(MAX_LINE_BYTES + over, end, chunks) is accepted


def test_lines_before_one_that_is_too_long_are_handed_out() -> None:
    splitter = LineSplitter()
    splitter.feed(b"first\nsecond\n" + b"x" * (MAX_LINE_BYTES + 2))

    assert [splitter.next_line(), splitter.next_line()] == [b"first", b"second"]
    with pytest.raises(LineTooLongError, match="1,048,576 bytes"):
        splitter.next_line()


def test_a_long_line_in_many_small_pieces_is_searched_once() -> None:
    """Each byte once: a search from the start with every piece would never end here."""
    piece = b"x" * 64
    pieces = [piece] * (MAX_LINE_BYTES // len(piece))

    lines, unfinished = split(*pieces, b"\n")

    assert [len(line) for line in lines] == [MAX_LINE_BYTES]
    assert unfinished == b""

"""Lines of a stream as they come, in bounded memory."""

from collections.abc import Iterator
from typing import BinaryIO

_CHUNK_BYTES = 256 * 1024


def batches_of_lines(stream: BinaryIO, max_line_bytes: int) -> Iterator[list[bytes]]:
    """The whole lines of each chunk that a read gives, without their line ends.

    A line that is longer than `max_line_bytes` is cut off a byte after that: enough to see that
    it is too long. The last line needs no end.
    """
    pieces: list[bytes] = []
    kept_bytes = 0
    while chunk := stream.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]
        *ended, rest = chunk.split(b"\n")
        if ended:
            ended[0] = b"".join([*pieces, ended[0]])[: max_line_bytes + 1]
            pieces, kept_bytes = [], 0
            yield ended
        if kept_bytes <= max_line_bytes:
            pieces.append(rest)
            kept_bytes += len(rest)
    if last := b"".join(pieces)[: max_line_bytes + 1]:
        yield [last]

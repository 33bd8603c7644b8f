"""Lines out of a byte stream. Any split of the bytes gives the same lines."""

MAX_LINE_BYTES = 1024 * 1024
"""A line's limit without its end, from the protocol's specification."""


class LineTooLongError(ValueError):
    """A line is longer than the limit; `start` is what had arrived of it."""

    def __init__(self, start: bytes) -> None:
        super().__init__(f"a line is longer than {MAX_LINE_BYTES:,} bytes")
        self.start = start


class LineSplitter:
    """Collects bytes and hands out whole lines, without their `\\n` or `\\r\\n`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> None:
        """Adds bytes as they arrived."""
        self._buffer += data

    def next_line(self) -> bytes | None:
        """The next whole line, or None while it has no end yet.

        Raises:
            LineTooLongError: the line is over `MAX_LINE_BYTES`.
        """
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            # One byte more may still be the carriage return of a line end.
            if len(self._buffer) > MAX_LINE_BYTES + 1:
                raise LineTooLongError(bytes(self._buffer))
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        if len(line) > MAX_LINE_BYTES:
            raise LineTooLongError(line)
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    @property
    def unfinished(self) -> bytes:
        """What has arrived after the last whole line that was handed out."""
        return bytes(self._buffer)

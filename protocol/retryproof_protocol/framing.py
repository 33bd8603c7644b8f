"""Lines out of a byte stream. Any split of the bytes gives the same lines."""

MAX_LINE_BYTES = 1024 * 1024
"""A line's limit without its end, from the protocol's specification."""


class LineTooLongError(ValueError):
    """A line is longer than the limit; `start` is what had arrived of it."""

    def __init__(self, start: bytes) -> None:
        super().__init__(f"a line is longer than {MAX_LINE_BYTES:,} bytes")
        self.start = start


class LineSplitter:
    """Collects bytes and hands out whole lines, without their line ends (LF or CRLF)."""

    def __init__(self) -> None:
        self._buffer = b""
        self._searched = 0

    def feed(self, data: bytes) -> None:
        """Adds bytes as they arrived."""
        self._buffer += data

    def next_line(self) -> bytes | None:
        """The next whole line, or None while it has no end yet.

        Raises:
            LineTooLongError: the line is over `MAX_LINE_BYTES`.
        """
        buffer = self._buffer
        end = buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(buffer)
            # One byte more may still be the carriage return of a line end.
            if len(buffer) > MAX_LINE_BYTES + 1:
                raise LineTooLongError(buffer)
            return None
        line = buffer[:end]
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > MAX_LINE_BYTES:
            raise LineTooLongError(line)
        self._buffer = buffer[end + 1 :]
        self._searched = 0
        return line

    @property
    def unfinished(self) -> bytes:
        """What has arrived after the last whole line that was handed out."""
        return self._buffer

"""What the adapter writes, as it came: needed to tell an answer from what is none."""

from typing import Literal

from ..supervise.session import WireSink


class Incoming:
    """The lines of one conversation: those that were taken as answers, and what came after.

    It is a wire sink, and passes on to another one all that it gets.
    """

    def __init__(self, pass_on: WireSink | None) -> None:
        self._pass_on = pass_on
        self._untaken = b""
        self.taken: list[bytes] = []

    def __call__(self, direction: Literal["->", "<-"], data: bytes) -> None:
        """Takes what was written to (->) or came from (<-) the adapter."""
        if self._pass_on is not None:
            self._pass_on(direction, data)
        if direction == "<-":
            self._untaken += data

    def take(self, line: bytes) -> None:
        """Notes that the first line was an answer."""
        self.taken.append(line)
        self._untaken = self._untaken.partition(b"\n")[2]

    @property
    def next_line(self) -> bytes:
        """The first line that was not taken, or what there is of it."""
        return self._untaken.partition(b"\n")[0].removesuffix(b"\r")

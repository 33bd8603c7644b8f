"""A second formulation of strict JSON: a reader by hand, straight from the grammar of RFC 8259.

Slow and plain on purpose. It shares nothing with the readers behind `strictjson`.
"""

import re
from typing import Any

_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPES = {
    ord('"'): '"',
    ord("\\"): "\\",
    ord("/"): "/",
    ord("b"): "\b",
    ord("f"): "\f",
    ord("n"): "\n",
    ord("r"): "\r",
    ord("t"): "\t",
}
_WORDS = {b"true": True, b"false": False, b"null": None}


class RefusedError(Exception):
    """The bytes are not strict JSON."""


def read(data: bytes) -> Any:
    """The value in `data`, or RefusedError."""
    reader = _Reader(data)
    value = reader.value()
    reader.skip_space()
    if reader.at != len(data):
        raise RefusedError
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def skip_space(self) -> None:
        while self.data[self.at : self.at + 1] in {b" ", b"\t", b"\n", b"\r"}:
            self.at += 1

    def take(self, expected: bytes) -> bool:
        found = self.data.startswith(expected, self.at)
        self.at += len(expected) if found else 0
        return found

    def need(self, expected: bytes) -> None:
        if not self.take(expected):
            raise RefusedError

    def value(self) -> Any:
        self.skip_space()
        for word, value in _WORDS.items():
            if self.take(word):
                return value
        if self.take(b"{"):
            return self.members()
        if self.take(b"["):
            return self.elements()
        if self.take(b'"'):
            return self.string()
        return self.number()

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.skip_space()
        if self.take(b"}"):
            return found
        while True:
            self.skip_space()
            self.need(b'"')
            name = self.string()
            if name in found:
                raise RefusedError
            self.skip_space()
            self.need(b":")
            found[name] = self.value()
            self.skip_space()
            if self.take(b"}"):
                return found
            self.need(b",")

    def elements(self) -> list[Any]:
        found: list[Any] = []
        self.skip_space()
        if self.take(b"]"):
            return found
        while True:
            found.append(self.value())
            self.skip_space()
            if self.take(b"]"):
                return found
            self.need(b",")

    def string(self) -> str:
        units = bytearray()
        while not self.take(b'"'):
            if self.at >= len(self.data) or self.data[self.at] < 0x20:
                raise RefusedError
            units += self.escape() if self.take(b"\\") else self.plain()
        try:
            return units.decode("utf-16-be")
        except UnicodeDecodeError:
            raise RefusedError from None

    def plain(self) -> bytes:
        """The next character, as UTF-16 code units."""
        first = self.data[self.at]
        length = 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)
        character = self.data[self.at : self.at + length]
        self.at += length
        try:
            return character.decode("utf-8").encode("utf-16-be")
        except UnicodeDecodeError:
            raise RefusedError from None

    def escape(self) -> bytes:
        """What follows a backslash, as UTF-16 code units: two escapes may be one character."""
        if self.take(b"u"):
            digits = self.data[self.at : self.at + 4]
            self.at += 4
            if not re.fullmatch(rb"[0-9a-fA-F]{4}", digits):
                raise RefusedError
            return int(digits, 16).to_bytes(2, "big")
        letter = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        if letter not in _ESCAPES:
            raise RefusedError
        return _ESCAPES[letter].encode("utf-16-be")

    def number(self) -> int | float:
        match = _NUMBER.match(self.data, self.at)
        if match is None:
            raise RefusedError
        self.at = match.end()
        if match[1] is None and match[2] is None:
            return int(match[0])
        value = float(match[0])
        if value in {float("inf"), float("-inf")}:
            raise RefusedError
        return value

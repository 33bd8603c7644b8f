"""Showing what somebody else's program wrote without letting it reach the terminal raw."""

import unicodedata

DEFAULT_SHOWN_BYTES = 160
SHOWN_NAME_CHARACTERS = 60

_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_controls(text: str, keep: str = "") -> str:
    """Text with each control, format, surrogate and unassigned character as an escape.

    Format characters count because a bidirectional override can turn a message around.
    The characters in `keep` are left alone.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character in keep or not _is_unsafe(character) else _escape(character)
        for character in text
    )


def shown_name(name: str) -> str:
    """A member's name as it can be shown: escaped, and only its start if it is long."""
    ellipsis = "..." if len(name) > SHOWN_NAME_CHARACTERS else ""
    return escape_controls(name[:SHOWN_NAME_CHARACTERS]) + ellipsis


def quote_start(data: bytes, limit_bytes: int = DEFAULT_SHOWN_BYTES) -> str:
    """The start of `data` in double quotes, at most `limit_bytes` of it, bytes escaped safely."""
    shown = data[:limit_bytes].decode("utf-8", "backslashreplace")
    ellipsis = f" (and {len(data) - limit_bytes:,} bytes more)" if len(data) > limit_bytes else ""
    return f'"{escape_controls(shown)}"{ellipsis}'


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def _escape(character: str) -> str:
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

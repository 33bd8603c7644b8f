"""The placeholders in a request: {key}, {value}, {at}, {key_uuid} and {delivery}. Pure."""

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from retryproof_protocol.messages import Operation

Values: TypeAlias = Mapping[str, str | int]
"""What stands for each placeholder."""

JSONValue: TypeAlias = "bool | int | float | str | list[JSONValue] | dict[str, JSONValue] | None"

CLOCK_PLACEHOLDERS = ("at",)
STEP_PLACEHOLDERS = ("key", "value", "at", "key_uuid", "delivery")

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")
_Template = TypeVar("_Template", bound=JSONValue)


def step_values(operation: Operation, case_seed: bytes) -> dict[str, str | int]:
    """The values for an operation. The same seed and key give the same UUID, no others do."""
    return {
        "key": operation.key,
        "value": operation.value,
        "at": operation.at,
        "key_uuid": key_uuid(operation.key, case_seed),
        "delivery": operation.delivery,
    }


def key_uuid(key: str, case_seed: bytes) -> str:
    """A UUID derived from the key, in the form of version 4, which some services insist on."""
    digest = hashlib.sha256(case_seed + key.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def placeholders(template: JSONValue) -> Iterator[str]:
    """The names in single braces, anywhere in the template. Other braces are just text."""
    if isinstance(template, str):
        yield from _PLACEHOLDER.findall(template)
    elif isinstance(template, list):
        for element in template:
            yield from placeholders(element)
    elif isinstance(template, dict):
        for name, member in template.items():
            yield from placeholders(name)
            yield from placeholders(member)


def fill(template: _Template, values: Values) -> _Template | int:
    """The template with its placeholders filled. "{at}" alone becomes the number, not its text."""
    filled: JSONValue = template
    if isinstance(template, str):
        at = values.get("at")
        filled = at if template == "{at}" and at is not None else fill_text(template, values)
    elif isinstance(template, list):
        filled = [fill(element, values) for element in template]
    elif isinstance(template, dict):
        filled = {fill_text(name, values): fill(part, values) for name, part in template.items()}
    return filled  # type: ignore[return-value]


def fill_text(template: str, values: Values) -> str:
    """The template with its placeholders filled, as text in any case."""
    return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), template)

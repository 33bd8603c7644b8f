"""Reading what a client sends, in bounded memory."""

from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import fields
from retryproof_protocol.quoting import shown_name
from starlette.requests import ClientDisconnect, Request

from ..api.reading import MalformedBodyError, as_form
from .problems import ProblemError

MAX_BODY_BYTES = 1024 * 1024
MAX_KEY_CHARACTERS = 255

_Query = TypeVar("_Query", bound=Struct)


async def read_limited_body(request: Request) -> bytes:
    """The body.

    Raises:
        ProblemError: it is too large, and was not read to its end; or the client has gone.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise ProblemError(
                    413,
                    "body-too-large",
                    f"A body has at most {MAX_BODY_BYTES:,} bytes.",
                    headers={"Connection": "close"},
                )
    except ClientDisconnect:
        raise ProblemError(400, "incomplete-body", "The body ends too soon.") from None
    return bytes(body)


def read_query(request: Request, wanted: type[_Query]) -> _Query:
    """The query's parameters; one whose default is a tuple may be repeated.

    Raises:
        ProblemError: one is unknown or out of bounds, or there twice.
    """
    repeatable = {field.encode_name for field in fields(wanted) if isinstance(field.default, tuple)}
    values: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in repeatable:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise ProblemError(400, "bad-query", "This parameter is there twice.", shown_name(name))
        else:
            values[name] = value
    try:
        return as_form(values, wanted, strict=False)
    except MalformedBodyError as error:
        raise ProblemError(400, "bad-query", error.problem, error.path) from None


def read_idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key, if there is one.

    Raises:
        ProblemError: it is none that can be told apart from others for sure.
    """
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    is_visible = all("!" <= character <= "~" for character in keys[0])
    if len(keys) > 1 or not is_visible or not 1 <= len(keys[0]) <= MAX_KEY_CHARACTERS:
        raise ProblemError(
            400,
            "bad-idempotency-key",
            f"There is one Idempotency-Key, of 1 to {MAX_KEY_CHARACTERS} visible ASCII characters.",
        )
    return keys[0]

"""One call of the API: its route, and all that its description says."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Answer(Struct, frozen=True):
    """An answer that a call can have: JSON of the type `body`, or text of some `media_type`.

    A body may be of one type or another, as A | B. `text_type` is that of the text that may be
    asked for in place of JSON.
    """

    meaning: str
    body: Any = None
    media_type: str = "application/json"
    text_type: str | None = None


class Operation(Struct, frozen=True, kw_only=True):
    """A call.

    Attributes:
        name: unique among all calls.
        query: the type whose members are the query's parameters.
        headers: those request headers that mean something, and what.
        body: the type of its JSON body; None if it takes none.
        answers: by status, the refusals left out.
        refusals: why it may be refused, by status, beside what any call may be refused for.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    summary: str
    handler: Handler
    query: type[Struct] | None = None
    headers: Mapping[str, str] = {}
    body: Any = None
    answers: Mapping[int, Answer]
    refusals: Mapping[int, str] = {}

    def route(self) -> Route:
        """How Starlette finds the handler."""
        return Route(self.path, self.handler, methods=[self.method], name=self.name)


def json_response(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer with this document as JSON."""
    return Response(msgspec.json.encode(document), status, headers, media_type="application/json")

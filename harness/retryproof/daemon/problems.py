"""What the daemon answers in place of what was asked for."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from ..api.views import ProblemBody, ProblemDetail


class ProblemError(Exception):
    """A call is answered with a problem. See `problem_response` for the arguments."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        path: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.path = path
        self.headers = headers

    def response(self) -> Response:
        """The answer."""
        return problem_response(self.status, self.code, self.message, self.path, self.headers)


def problem_response(
    status: int, code: str, message: str, path: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """The answer, as JSON.

    Args:
        status: from 400 on.
        code: lower case with hyphens; clients rely on it.
        message: what happened and what to do, as whole sentences.
        path: the place in the request's body ("adapter.command[0]").
        headers: further ones.
    """
    document = ProblemBody(ProblemDetail(code, message, path))
    return Response(msgspec.json.encode(document), status, headers, media_type="application/json")

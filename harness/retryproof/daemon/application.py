"""The daemon's HTTP application: its calls, and how whatever goes wrong is answered."""

import logging
from collections.abc import Iterable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import StoreError
from . import openapi
from .operations.operation import Answer, Operation, json_response
from .operations.runs import RETRY_AFTER_SECONDS
from .problems import ProblemError, problem_response

_logger = logging.getLogger(__name__)


def make_application(operations: Iterable[Operation]) -> Starlette:
    """The application that answers these calls, and describes them."""
    calls = tuple(operations)

    async def answer_description(_request: Request) -> Response:
        return json_response(openapi.describe((*calls, description)))

    description = Operation(
        method="GET",
        path=openapi.PATH,
        name="describe",
        summary="This description.",
        handler=answer_description,
        answers={200: Answer("OpenAPI 3.1.", dict)},
    )
    routes: list[Route] = [call.route() for call in (*calls, description)]
    application = Starlette(
        routes=routes,
        exception_handlers={
            ProblemError: _answer_problem,
            StoreError: _answer_store_error,
            HTTPException: _answer_http_exception,
            Exception: _answer_bug,
        },
    )
    application.router.redirect_slashes = False
    return application


async def _answer_problem(_request: Request, error: Exception) -> Response:
    if not isinstance(error, ProblemError):
        raise error
    return error.response()


async def _answer_store_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, StoreError):
        raise error
    return problem_response(
        503,
        "store-unavailable",
        f"{error.message} {error.advice}",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


async def _answer_http_exception(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    phrase = HTTPStatus(error.status_code).phrase
    return problem_response(
        error.status_code,
        phrase.lower().replace(" ", "-"),
        f"{phrase}. GET {openapi.PATH} describes all calls.",
        headers=error.headers,
    )


async def _answer_bug(_request: Request, error: Exception) -> Response:
    _logger.error("this is a bug in retryproof", exc_info=error)
    return problem_response(
        500, "internal", "This is a bug in retryproof. The daemon's log has the traceback."
    )

"""The pure parts: no adapter runs for them, and no access rule is needed."""

from typing import Any

import msgspec
from msgspec import Raw, Struct
from starlette.requests import Request
from starlette.responses import Response

from ... import resources
from ...api.reading import MalformedBodyError, as_form, read_document
from ...api.views import Comparison
from ...app import CONTRACT_FILE
from ...contract.artifacts import read_submission
from ...contract.bundle import Bundle
from ...contract.check import CheckReport, check
from ...contract.compare import CompareReport, compare
from ...contract.reduce import ReduceReport, reduce
from ...fuse import Report, Unverified, encode, evaluate_json
from ..problems import ProblemError
from ..requests import read_limited_body, read_query
from .operation import Answer, Operation, json_response


class ReduceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`all`: follow every reduction to its end."""

    all: bool = False


class _RawComparison(Struct, frozen=True):
    parent: Raw
    candidate: Raw


def pure_operations(bundle: Bundle) -> tuple[Operation, ...]:
    """The calls, for this contract."""

    async def answer_check(request: Request) -> Response:
        submission = read_submission(await read_limited_body(request), bundle.mission)
        return json_response(check(submission, bundle.not_covered))

    async def answer_reduce(request: Request) -> Response:
        query = read_query(request, ReduceQuery)
        submission = read_submission(await read_limited_body(request), bundle.mission)
        return json_response(reduce(submission, bundle.not_covered, query.all))

    async def answer_compare(request: Request) -> Response:
        body = await read_limited_body(request)
        try:
            as_form(read_document(body), Comparison)
        except MalformedBodyError as error:
            raise ProblemError(400, "bad-body", error.problem, error.path) from None
        # The two as they were written: their size counts.
        pair = msgspec.json.decode(body, type=_RawComparison)
        parent = read_submission(bytes(pair.parent), bundle.mission)
        candidate = read_submission(bytes(pair.candidate), bundle.mission)
        return json_response(compare(parent, candidate, bundle.not_covered))

    return (
        Operation(
            method="GET",
            path="/v1/contract",
            name="contract",
            summary="The contract bundle: cases with their expected traces, rules, faults.",
            handler=_answer_contract,
            answers={200: Answer("The bundle.", dict[str, Any])},
        ),
        Operation(
            method="POST",
            path="/v1/check",
            name="check",
            summary="Checks a counterexample artifact, or its submission wrapper.",
            handler=answer_check,
            body=dict[str, Any],
            answers={
                200: Answer("What the two bundled models say, or what is wrong.", CheckReport)
            },
        ),
        Operation(
            method="POST",
            path="/v1/reduce",
            name="reduce",
            summary="The one-step reductions of an accepted artifact.",
            handler=answer_reduce,
            query=ReduceQuery,
            body=dict[str, Any],
            answers={200: Answer("The reductions.", ReduceReport)},
        ),
        Operation(
            method="POST",
            path="/v1/compare",
            name="compare",
            summary="Is the candidate a strict ordered reduction of the parent?",
            handler=answer_compare,
            body=Comparison,
            answers={200: Answer("Whether it is.", CompareReport)},
            refusals={400: "The body is not two artifacts."},
        ),
        Operation(
            method="POST",
            path="/v1/fuse",
            name="fuse",
            summary="Is it safe to send that request again? As `retryfuse` decides it.",
            handler=_answer_fuse,
            body=dict[str, Any],
            answers={
                200: Answer(
                    "The decision; of status unverified if the input is malformed.",
                    Report | Unverified,
                ),
            },
        ),
    )


async def _answer_contract(_request: Request) -> Response:
    return Response(resources.read_bytes(CONTRACT_FILE), media_type="application/json")


async def _answer_fuse(request: Request) -> Response:
    answer: Report | Unverified = evaluate_json(await read_limited_body(request))
    return Response(encode(answer), media_type="application/json")

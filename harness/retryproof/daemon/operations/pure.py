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
from ...contract.artifacts import Submission, read_submission
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


class PureApi:
    """Answers the calls that look at nothing but their body, for one contract."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def operations(self) -> tuple[Operation, ...]:
        """The calls."""
        return (
            Operation(
                method="GET",
                path="/v1/contract",
                name="contract",
                summary="The contract bundle: cases with their expected traces, rules, faults.",
                handler=self.contract,
                answers={200: Answer("The bundle.", dict[str, Any])},
            ),
            Operation(
                method="POST",
                path="/v1/check",
                name="check",
                summary="Checks a counterexample artifact, or its submission wrapper.",
                handler=self.check,
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
                handler=self.reduce,
                query=ReduceQuery,
                body=dict[str, Any],
                answers={200: Answer("The reductions.", ReduceReport)},
            ),
            Operation(
                method="POST",
                path="/v1/compare",
                name="compare",
                summary="Is the candidate a strict ordered reduction of the parent?",
                handler=self.compare,
                body=Comparison,
                answers={200: Answer("Whether it is.", CompareReport)},
                refusals={400: "The body is not two artifacts."},
            ),
            Operation(
                method="POST",
                path="/v1/fuse",
                name="fuse",
                summary="Is it safe to send that request again? As `retryfuse` decides it.",
                handler=self.fuse,
                body=dict[str, Any],
                answers={
                    200: Answer(
                        "The decision; of status unverified if the input is malformed.",
                        Report | Unverified,
                    ),
                },
            ),
        )

    async def contract(self, _request: Request) -> Response:
        """`GET /v1/contract`."""
        return Response(resources.read_bytes(CONTRACT_FILE), media_type="application/json")

    async def check(self, request: Request) -> Response:
        """`POST /v1/check`."""
        submission = self._read(await read_limited_body(request))
        return json_response(check(submission, self._bundle.not_covered))

    async def reduce(self, request: Request) -> Response:
        """`POST /v1/reduce`."""
        query = read_query(request, ReduceQuery)
        submission = self._read(await read_limited_body(request))
        return json_response(reduce(submission, self._bundle.not_covered, query.all))

    async def compare(self, request: Request) -> Response:
        """`POST /v1/compare`."""
        body = await read_limited_body(request)
        try:
            as_form(read_document(body), Comparison)
        except MalformedBodyError as error:
            raise ProblemError(400, "bad-body", error.problem, error.path) from None
        # The two as they were written: their size counts.
        pair = msgspec.json.decode(body, type=_RawComparison)
        parent, candidate = self._read(bytes(pair.parent)), self._read(bytes(pair.candidate))
        return json_response(compare(parent, candidate, self._bundle.not_covered))

    async def fuse(self, request: Request) -> Response:
        """`POST /v1/fuse`."""
        answer = evaluate_json(await read_limited_body(request))
        return Response(encode(answer), media_type="application/json")

    def _read(self, data: bytes) -> Submission:
        return read_submission(data, self._bundle.mission)

"""The calls about runs."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...api.reading import MalformedBodyError
from ...api.submission import RunSubmission, SuiteName
from ...api.views import OVER, RunPage, RunState, RunView, RunWithReport
from ...reports.formats import ReportFormat
from ...reports.fuse_report import FuseReport
from ...reports.report import Report, Verdict
from ...store.runs import Filter, RunRecord, RunStore
from ..engine import Engine, StoppingError
from ..event_stream import stream
from ..problems import ProblemError
from ..requests import read_idempotency_key, read_limited_body, read_query
from ..views import view_of, with_report
from .operation import Answer, Operation, json_response

RETRY_AFTER_SECONDS = 2
_DEFAULT_PAGE, _MAX_PAGE = 50, 200
_MAX_NUMBER = 2**53
_EVENT_NUMBER = re.compile(r"[0-9]{1,15}")


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs are wanted; `state` may be repeated, `cursor` is the `next` of another page."""

    state: tuple[RunState, ...] = ()
    verdict: Verdict | None = None
    suite: SuiteName | None = None
    client: str | None = None
    key: str | None = None
    limit: Annotated[int, Meta(ge=1, le=_MAX_PAGE)] = _DEFAULT_PAGE
    cursor: Annotated[int, Meta(ge=0, le=_MAX_NUMBER)] | None = None


class FollowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Without `follow` the stream ends with what has happened so far."""

    follow: bool = True


class ReportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The report's format: for programs or for people."""

    format: ReportFormat = "json"


class RunsApi:
    """Answers the calls about the runs of an engine."""

    def __init__(self, engine: Engine, store: RunStore) -> None:
        self._engine = engine
        self._store = store

    def operations(self) -> tuple[Operation, ...]:
        """The calls."""
        return (*self._about_all(), *self._about_one())

    def _about_all(self) -> tuple[Operation, ...]:
        return (
            Operation(
                method="POST",
                path="/v1/runs",
                name="submitRun",
                summary="Has an adapter driven. The run is on the disk before this is answered.",
                handler=self.submit,
                headers={
                    "Idempotency-Key": "1 to 255 visible ASCII characters. For 24 hours from its "
                    "first request, the same key and body answer with the first run."
                },
                body=RunSubmission,
                answers={
                    200: Answer("The first run of this key and body.", RunView),
                    201: Answer("The run, queued; Location has its address.", RunView),
                },
                refusals={
                    400: "The body asks for nothing that can be run.",
                    409: "The key stands for another body.",
                    413: "The body is too large.",
                    429: "The queue is full; Retry-After says when to try again.",
                    503: "The store can't be written, or the daemon is stopping.",
                },
            ),
            Operation(
                method="GET",
                path="/v1/runs",
                name="listRuns",
                summary="Runs, the newest first.",
                handler=self.list,
                query=RunsQuery,
                answers={200: Answer("A page of them.", RunPage)},
                refusals={400: "The query makes no sense."},
            ),
        )

    def _about_one(self) -> tuple[Operation, ...]:
        return (
            Operation(
                method="GET",
                path="/v1/runs/{id}",
                name="getRun",
                summary="A run, with its report once it is over.",
                handler=self.get,
                answers={200: Answer("The run.", RunWithReport)},
                refusals={404: "There is no such run."},
            ),
            Operation(
                method="GET",
                path="/v1/runs/{id}/events",
                name="followRun",
                summary="What happens in the run, as server-sent events, until it is over.",
                handler=self.follow,
                query=FollowQuery,
                headers={"Last-Event-ID": "Only events after this one are sent."},
                answers={
                    200: Answer(
                        "Each message is an event, with its number as id; the last one, `end`, "
                        "has the run.",
                        media_type="text/event-stream",
                    )
                },
                refusals={404: "There is no such run."},
            ),
            Operation(
                method="GET",
                path="/v1/runs/{id}/report",
                name="getReport",
                summary="The report of a run that is over.",
                handler=self.report,
                query=ReportQuery,
                answers={
                    200: Answer(
                        "The report, as `retryproof run` prints it.",
                        Report | FuseReport,
                        text_type="text/plain",
                    )
                },
                refusals={404: "There is no such run.", 409: "There is no report of it (yet)."},
            ),
            Operation(
                method="POST",
                path="/v1/runs/{id}/cancel",
                name="cancelRun",
                summary="Kills the adapter's whole process tree; the run ends as cancelled.",
                handler=self.cancel,
                answers={
                    200: Answer("The run, which is over.", RunView),
                    202: Answer("The run, which will end in a moment.", RunView),
                },
                refusals={404: "There is no such run."},
            ),
        )

    async def submit(self, request: Request) -> Response:
        """`POST /v1/runs`."""
        key = read_idempotency_key(request)
        body = await read_limited_body(request)
        try:
            accepted = await self._engine.submit(body, key)
        except MalformedBodyError as error:
            raise ProblemError(400, "bad-submission", error.problem, error.path) from None
        except StoppingError:
            raise ProblemError(
                503, "stopping", "The daemon is stopping.", headers=_RETRY_AFTER
            ) from None
        if accepted.ruling == "full":
            raise ProblemError(
                429, "queue-full", "The queue is full. Try again later.", headers=_RETRY_AFTER
            )
        if accepted.ruling == "conflict" or accepted.run is None:
            raise ProblemError(
                409,
                "key-reused",
                "This Idempotency-Key stands for another request. Send this one with a key of its "
                "own.",
            )
        record = await self._find(accepted.run)
        status = 201 if accepted.ruling == "create" else 200
        return json_response(view_of(record), status, {"Location": f"/v1/runs/{record.id}"})

    async def list(self, request: Request) -> Response:
        """`GET /v1/runs`."""
        query = read_query(request, RunsQuery)
        wanted = Filter(query.state, query.verdict, query.suite, query.client, query.key)
        found = await self._engine.in_thread(
            self._store.page, wanted, query.cursor, query.limit + 1
        )
        total = await self._engine.in_thread(self._store.count, wanted)
        shown = found[: query.limit]
        following = str(shown[-1].number) if len(found) > len(shown) else None
        return json_response(RunPage(tuple(map(view_of, shown)), total, following))

    async def get(self, request: Request) -> Response:
        """`GET /v1/runs/{id}`."""
        record = await self._find(request.path_params["id"])
        report = await self._engine.in_thread(self._engine.archive.report, record)
        encoded = None if report is None else msgspec.json.encode(report)
        return json_response(with_report(record, encoded))

    async def follow(self, request: Request) -> Response:
        """`GET /v1/runs/{id}/events`."""
        query = read_query(request, FollowQuery)
        last = request.headers.get("last-event-id", "0")
        if not _EVENT_NUMBER.fullmatch(last):
            raise ProblemError(400, "bad-last-event-id", "Last-Event-ID is the number of an event.")
        record = await self._find(request.path_params["id"])
        events = stream(self._engine, self._store, record.id, int(last), query.follow)
        return StreamingResponse(events, media_type="text/event-stream")

    async def report(self, request: Request) -> Response:
        """`GET /v1/runs/{id}/report`."""
        query = read_query(request, ReportQuery)
        record = await self._find(request.path_params["id"])
        report = await self._engine.in_thread(self._engine.archive.report_as, record, query.format)
        if report is None:
            raise ProblemError(
                409,
                "not-over" if record.state not in OVER else "no-report",
                f"The run is {record.state}, and has no report"
                + (" yet." if record.state not in OVER else ": it was never started."),
            )
        media_type = "application/json" if query.format == "json" else "text/plain; charset=utf-8"
        return Response(report, media_type=media_type)

    async def cancel(self, request: Request) -> Response:
        """`POST /v1/runs/{id}/cancel`."""
        record = await self._find(request.path_params["id"])
        await self._engine.cancel(record)
        record = await self._find(record.id)
        return json_response(view_of(record), 200 if record.state in OVER else 202)

    async def _find(self, run: str) -> RunRecord:
        record = await self._engine.in_thread(self._store.get, run)
        if record is None:
            raise ProblemError(
                404, "not-found", "There is no run with this id. GET /v1/runs lists them."
            )
        return record


_RETRY_AFTER = {"Retry-After": str(RETRY_AFTER_SECONDS)}

"""The calls about the daemon itself."""

import os

from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ...api.views import DaemonStatus, Health
from ..engine import MAX_QUEUED, Engine
from ..metrics import CONTENT_TYPE, Metrics
from .operation import Answer, Operation, json_response


def state_operations(engine: Engine, metrics: Metrics) -> tuple[Operation, ...]:
    """The calls, for this engine."""

    async def answer_health(_request: Request) -> Response:
        return json_response(Health())

    async def answer_ready(_request: Request) -> Response:
        problem = engine.problem
        status = DaemonStatus(
            ready=problem is None,
            problem=problem,
            version=__version__,
            pid=os.getpid(),
            jobs=engine.jobs,
            queued=engine.queued,
            running=engine.running,
            max_queued=MAX_QUEUED,
        )
        return json_response(status, 200 if status.ready else 503)

    async def answer_metrics(_request: Request) -> Response:
        return Response(metrics.exposition(engine.queued, engine.running), media_type=CONTENT_TYPE)

    return (
        Operation(
            method="GET",
            path="/healthz",
            name="health",
            summary="Does the process answer?",
            handler=answer_health,
            answers={200: Answer("It does.", Health)},
        ),
        Operation(
            method="GET",
            path="/readyz",
            name="ready",
            summary="Does the daemon take runs, and if not, why?",
            handler=answer_ready,
            answers={
                200: Answer("It does.", DaemonStatus),
                503: Answer("It does not now.", DaemonStatus),
            },
        ),
        Operation(
            method="GET",
            path="/metrics",
            name="metrics",
            summary="Queue, running runs, verdicts, deadlines, kills and leaks, for Prometheus.",
            handler=answer_metrics,
            answers={200: Answer("The metrics.", media_type="text/plain")},
        ),
    )

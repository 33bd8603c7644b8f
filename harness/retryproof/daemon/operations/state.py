"""The calls about the daemon itself."""

import os

from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ...api.views import DaemonStatus, Health
from ..engine import MAX_QUEUED, Engine
from ..metrics import CONTENT_TYPE, Metrics
from .operation import Answer, Operation, json_response


class StateApi:
    """Answers the calls about the daemon of an engine."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self._engine = engine
        self._metrics = metrics

    def operations(self) -> tuple[Operation, ...]:
        """The calls."""
        return (
            Operation(
                method="GET",
                path="/healthz",
                name="health",
                summary="Does the process answer?",
                handler=self.health,
                answers={200: Answer("It does.", Health)},
            ),
            Operation(
                method="GET",
                path="/readyz",
                name="ready",
                summary="Does the daemon take runs, and if not, why?",
                handler=self.ready,
                answers={
                    200: Answer("It does.", DaemonStatus),
                    503: Answer("It does not now.", DaemonStatus),
                },
            ),
            Operation(
                method="GET",
                path="/metrics",
                name="metrics",
                summary="Runs, verdicts, deadlines, kills and leaks, in numbers for Prometheus.",
                handler=self.metrics,
                answers={200: Answer("The metrics.", media_type="text/plain")},
            ),
        )

    async def health(self, _request: Request) -> Response:
        """`GET /healthz`."""
        return json_response(Health())

    async def ready(self, _request: Request) -> Response:
        """`GET /readyz`."""
        problem = self._engine.problem
        status = DaemonStatus(
            ready=problem is None,
            problem=problem,
            version=__version__,
            pid=os.getpid(),
            jobs=self._engine.jobs,
            queued=self._engine.queued,
            running=self._engine.running,
            max_queued=MAX_QUEUED,
        )
        return json_response(status, 200 if status.ready else 503)

    async def metrics(self, _request: Request) -> Response:
        """`GET /metrics`."""
        exposition = self._metrics.exposition(self._engine.queued, self._engine.running)
        return Response(exposition, media_type=CONTENT_TYPE)

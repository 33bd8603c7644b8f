"""What the adapter does for `reset` and `step`, as a SERVICE.toml says."""

import secrets

from retryproof_protocol.messages import Capabilities, ClockCapability, Observation, Operation

from .answers import Answer, CallError, NoAnswerError, read_count, read_receipt, require_success
from .client import Client
from .config import Command, Service
from .log import Log
from .programs import run_command
from .receipts import Receipts
from .request import Request
from .templates import Values, step_values

_SEED_BYTES = 16
_STATUSES = range(100, 600)


class HTTPAdapter:
    """One service, through all its cases."""

    def __init__(self, service: Service, client: Client, log: Log) -> None:
        self._service = service
        self._client = client
        self._log = log
        self._case_seed = b""
        self._receipts = Receipts()
        self._writes_at_reset = 0
        self._writes = 0

    @property
    def name(self) -> str:
        """What the report calls this adapter."""
        return self._service.base_url

    @property
    def capabilities(self) -> Capabilities:
        """The real-time clock, if the service has no other."""
        clock = self._service.clock
        if isinstance(clock, Request):
            return Capabilities()
        return Capabilities(ClockCapability(clock))

    def reset(self) -> None:
        """Begins a case: other UUIDs, no receipts, and writes counted from here on.

        Raises:
            CallError: the service could not be reset.
        """
        for action in self._service.reset:
            self._succeed(action)
        self._case_seed = secrets.token_bytes(_SEED_BYTES)
        self._receipts = Receipts()
        self._writes = self._writes_at_reset = 0
        self._writes_at_reset = self._count_writes()

    def step(self, operation: Operation) -> Observation:
        """Does one operation. A lost answer is read, and then hidden.

        Raises:
            CallError: the service could not be driven, or gave no usable answer.
        """
        values = step_values(operation, self._case_seed)
        if isinstance(self._service.clock, Request):
            self._succeed(self._service.clock, values)
        answer = self._send(operation, values)
        writes_before, self._writes = self._writes, self._count_writes()
        if answer is None:
            return Observation(None, None, self._writes)
        receipt = self._receipt(answer, writes_before)
        if operation.delivery == "lost":
            return Observation(None, None, self._writes)
        return Observation(answer.status, receipt, self._writes)

    def _send(self, operation: Operation, values: Values) -> Answer | None:
        """The answer to the step's own request. None if it was lost in earnest, as it should."""
        try:
            answer = self._client.send(self._service.step.request, values)
        except NoAnswerError:
            if operation.delivery == "lost":
                return None
            raise
        if answer.status not in _STATUSES:
            raise CallError("[step] request", f"{answer.source} has a status that is none in HTTP.")
        return answer

    def _receipt(self, answer: Answer, writes_before: int) -> int | None:
        """The ordinal of the answer's receipt; a refusal may name a known one, or none."""
        where = self._service.step.receipt
        if answer.is_success:
            receipt = read_receipt(answer, where)
            return self._receipts.ordinal(receipt, writes_before, self._writes)
        try:
            return self._receipts.known(read_receipt(answer, where))
        except CallError:
            return None

    def _count_writes(self) -> int:
        source = self._service.writes.source
        count = read_count(self._succeed(source), self._service.writes.count)
        writes = count - self._writes_at_reset
        if writes < 0:
            raise CallError(
                "[writes] count",
                f"there are {count} writes, and there were {self._writes_at_reset} at the reset: "
                "writes are not to go away within a case.",
            )
        return writes

    def _succeed(self, action: Request | Command, values: Values | None = None) -> Answer:
        if isinstance(action, Command):
            return run_command(action, self._log)
        answer = self._client.send(action, values or {})
        require_success(answer, f"{action.table} request")
        return answer

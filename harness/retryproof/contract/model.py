"""The one model of an idempotent service, and the faults as variations of it.

Source: the retry contract, version 1 (`fixtures/contract.json`, section "rules").
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace
from retryproof_protocol.messages import Observation, Operation


class Rules(Struct, frozen=True, rename="camel"):
    """The numbers of the contract. A record lives while `at` < creation tick + retention."""

    retention_ticks: int = 6
    create_status: int = 201
    replay_status: int = 200
    conflict_status: int = 409


class Variation(Struct, frozen=True):
    """In what a model departs from the contract. With nothing set, it is the reference."""

    replay_commits: bool = False
    ignores_body: bool = False
    replay_extends_retention: bool = False
    lost_success_forgets_record: bool = False


FAULTS: Mapping[str, Variation] = MappingProxyType(
    {
        "duplicate-write": Variation(replay_commits=True),
        "body-blind": Variation(ignores_body=True),
        "sliding-expiry": Variation(replay_extends_retention=True),
        "forget-on-loss": Variation(lost_success_forgets_record=True),
    }
)
"""The four named faults of the contract."""


class Record(Struct, frozen=True):
    """What the service remembers of a key until the tick `deadline`."""

    value: str
    receipt: int
    deadline: int


class State(Struct, frozen=True):
    """Everything the service knows: at most one record a key, and its write counter."""

    records: Mapping[str, Record] = MappingProxyType({})
    writes: int = 0


class Model(Struct, frozen=True):
    """A service as a value: from a state and an operation to a state and what was observed."""

    rules: Rules = Rules()
    variation: Variation = Variation()

    def step(self, state: State, operation: Operation) -> tuple[State, Observation]:
        """Serves one operation, then hides the answer if its delivery is lost."""
        after, status, receipt = self._serve(state, operation)
        if operation.delivery == "received":
            return after, Observation(status, receipt, after.writes)
        if self.variation.lost_success_forgets_record and status != self.rules.conflict_status:
            after = _without_record(after, operation.key)
        return after, Observation(None, None, after.writes)

    def trace(self, operations: Iterable[Operation]) -> tuple[Observation, ...]:
        """What is observed of the operations, one after another from an empty state."""
        state = State()
        observations = []
        for operation in operations:
            state, observation = self.step(state, operation)
            observations.append(observation)
        return tuple(observations)

    def _serve(self, state: State, operation: Operation) -> tuple[State, int, int | None]:
        record = state.records.get(operation.key)
        if record is None or operation.at >= record.deadline:
            return self._create(state, operation)
        if operation.value == record.value or self.variation.ignores_body:
            return self._replay(state, operation, record)
        return state, self.rules.conflict_status, None

    def _create(self, state: State, operation: Operation) -> tuple[State, int, int]:
        receipt = state.writes + 1
        deadline = operation.at + self.rules.retention_ticks
        record = Record(operation.value, receipt, deadline)
        after = State({**state.records, operation.key: record}, receipt)
        return after, self.rules.create_status, receipt

    def _replay(self, state: State, operation: Operation, record: Record) -> tuple[State, int, int]:
        status, writes = self.rules.replay_status, state.writes
        if self.variation.replay_commits:
            status, writes = self.rules.create_status, writes + 1
            record = replace(record, receipt=writes)
        if self.variation.replay_extends_retention:
            record = replace(record, deadline=operation.at + self.rules.retention_ticks)
        after = State({**state.records, operation.key: record}, writes)
        return after, status, record.receipt


REFERENCE = Model()


def faulty(name: str, rules: Rules = REFERENCE.rules) -> Model:
    """The model with the named fault.

    Raises:
        KeyError: the contract has no fault of this name.
    """
    return Model(rules, FAULTS[name])


def _without_record(state: State, key: str) -> State:
    records = {other: record for other, record in state.records.items() if other != key}
    return State(records, state.writes)

"""The model: its promises one by one, and as a whole against two other formulations."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof import resources
from retryproof.contract.model import FAULTS, REFERENCE, Model, Rules, State, faulty
from retryproof_protocol.messages import Observation, Operation

from tests.contract import second_model
from tests.strategies import FAULT_NAMES, LAST_TICK, histories, letters, repeatable

Trace = tuple[Observation, ...]
EVERY_MODEL = [None, *FAULT_NAMES]


def model_of(fault: str | None) -> Model:
    return REFERENCE if fault is None else faulty(fault)


def operations(*words: str) -> tuple[Operation, ...]:
    """Operations from words such as "5AAr": tick, key, value, received or lost."""
    return tuple(
        Operation(
            int(word[:-3]),
            "A" if word[-3] == "A" else "B",
            "A" if word[-2] == "A" else "B",
            "lost" if word[-1] == "l" else "received",
        )
        for word in words
    )


def in_short(trace: Trace) -> list[str]:
    """Observations as words such as "201 1 1", a dash for null."""
    return [
        f"{o.status or '-'} {'-' if o.receipt is None else o.receipt} {o.committed_writes}"
        for o in trace
    ]


@pytest.fixture(scope="module", params=EVERY_MODEL, ids=lambda fault: fault or "reference")
def adapter_trace(
    request: pytest.FixtureRequest,
) -> tuple[str | None, Callable[[Sequence[Operation]], Trace]]:
    """The bundled Python adapter as a module, with or without a fault."""
    fault = request.param
    path = resources.path_of("adapters/python/reference.py")
    spec = importlib.util.spec_from_file_location("reference_adapter", path)
    assert spec is not None
    assert spec.loader is not None
    adapter: Any = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *([] if fault is None else ["--fault", fault])])
        spec.loader.exec_module(adapter)

    def run(history: Sequence[Operation]) -> Trace:
        adapter.reset()
        return tuple(
            msgspec.convert(adapter.step(msgspec.to_builtins(operation)), Observation)
            for operation in history
        )

    return fault, run


@pytest.mark.parametrize("fault", EVERY_MODEL)
@repeatable(150)
@given(history=histories())
def test_the_model_agrees_with_a_formulation_without_state(
    fault: str | None, history: tuple[Operation, ...]
) -> None:
    assert model_of(fault).trace(history) == second_model.trace(history, fault)


def test_the_bundled_adapter_behaves_like_the_model(
    adapter_trace: tuple[str | None, Callable[[Sequence[Operation]], Trace]],
) -> None:
    fault, run = adapter_trace

    @repeatable(150)
    @given(history=histories())
    def agree(history: tuple[Operation, ...]) -> None:
        assert run(history) == model_of(fault).trace(history)

    agree()


@pytest.mark.parametrize(
    ("fault", "steps", "expected"),
    [
        pytest.param(None, "5AAr 10AAr 11AAr", "201 1 1, 200 1 1, 201 2 2", id="at the deadline"),
        pytest.param(None, "0AAr 5ABr 6ABr", "201 1 1, 409 - 1, 201 2 2", id="conflict, expired"),
        pytest.param(None, "0AAl 0AAl 0AAr", "- - 1, - - 1, 200 1 1", id="lost twice"),
        pytest.param(None, "0AAr 0BBr 0ABl", "201 1 1, 201 2 2, - - 2", id="a lost conflict"),
        pytest.param(
            "duplicate-write", "0AAr 5AAr 6AAr", "201 1 1, 201 2 2, 201 3 3", id="deadline stays"
        ),
        pytest.param(
            "duplicate-write", "0AAr 1AAl 1ABr", "201 1 1, - - 2, 409 - 2", id="lost replay writes"
        ),
        pytest.param("body-blind", "0AAl 1ABr 2AAr", "- - 1, 200 1 1, 200 1 1", id="any body"),
        pytest.param("body-blind", "0AAr 6ABr", "201 1 1, 201 2 2", id="expiry as promised"),
        pytest.param(
            "sliding-expiry",
            "0AAr 5AAl 10AAr 15AAr 21AAr",
            "201 1 1, - - 1, 200 1 1, 200 1 1, 201 2 2",
            id="a lost replay moves the deadline too",
        ),
        pytest.param(
            "sliding-expiry",
            "0AAr 5ABr 6AAr",
            "201 1 1, 409 - 1, 201 2 2",
            id="a conflict does not",
        ),
        pytest.param(
            "forget-on-loss", "0AAl 1ABr 2AAr", "- - 1, 201 2 2, 409 - 2", id="a lost create"
        ),
        pytest.param(
            "forget-on-loss", "0AAr 1AAl 2AAr", "201 1 1, - - 1, 201 2 2", id="a lost replay"
        ),
        pytest.param(
            "forget-on-loss", "0AAr 1ABl 2AAr", "201 1 1, - - 1, 200 1 1", id="not a lost conflict"
        ),
        pytest.param(
            "forget-on-loss", "0AAr 0BAl 1AAr", "201 1 1, - - 2, 200 1 2", id="only its own key"
        ),
    ],
)
def test_each_model_does_what_the_specification_says(
    fault: str | None, steps: str, expected: str
) -> None:
    assert in_short(model_of(fault).trace(operations(*steps.split()))) == expected.split(", ")


@repeatable(150)
@given(histories())
def test_a_lost_delivery_never_changes_what_the_reference_does(
    history: tuple[Operation, ...],
) -> None:
    received = [msgspec.structs.replace(step, delivery="received") for step in history]
    hidden = REFERENCE.trace(history)

    for step, seen, open_ in zip(history, hidden, REFERENCE.trace(received), strict=True):
        assert seen.committed_writes == open_.committed_writes
        assert seen == open_ or (step.delivery, seen.status, seen.receipt) == ("lost", None, None)


@pytest.mark.parametrize("fault", EVERY_MODEL)
@repeatable(100)
@given(history=histories(), key=letters)
def test_keys_do_not_touch_each_other(
    fault: str | None, history: tuple[Operation, ...], key: str
) -> None:
    """What happens under one key is the same without the other; only receipts count on."""
    together = zip(history, model_of(fault).trace(history), strict=True)
    alone = model_of(fault).trace(step for step in history if step.key == key)

    assert [seen.status for step, seen in together if step.key == key] == [
        seen.status for seen in alone
    ]


@pytest.mark.parametrize("fault", EVERY_MODEL)
@repeatable(100)
@given(history=histories(), data=st.data())
def test_only_the_distance_of_ticks_counts(
    fault: str | None, history: tuple[Operation, ...], data: st.DataObject
) -> None:
    shift = data.draw(st.integers(-history[0].at, LAST_TICK - history[-1].at))
    moved = [msgspec.structs.replace(step, at=step.at + shift) for step in history]

    assert model_of(fault).trace(moved) == model_of(fault).trace(history)


@pytest.mark.parametrize("fault", EVERY_MODEL)
@repeatable(100)
@given(history=histories())
def test_receipts_and_writes_are_consistent(
    fault: str | None, history: tuple[Operation, ...]
) -> None:
    writes = 0
    for step, seen in zip(history, model_of(fault).trace(history), strict=True):
        assert writes <= seen.committed_writes <= writes + 1
        writes = seen.committed_writes
        if step.delivery == "lost":
            assert (seen.status, seen.receipt) == (None, None)
        elif seen.status == 201:
            assert seen.receipt == writes
        elif seen.status == 200:
            assert seen.receipt is not None
            assert 1 <= seen.receipt <= writes
        else:
            assert (seen.status, seen.receipt) == (409, None)


@repeatable(100)
@given(histories())
def test_a_step_leaves_the_state_before_it_as_it_was(history: tuple[Operation, ...]) -> None:
    state = State()
    for operation in history:
        before = State(dict(state.records), state.writes)
        first, _ = REFERENCE.step(state, operation)
        second, _ = REFERENCE.step(state, operation)
        assert state == before
        assert first == second
        state = first


def test_the_rules_are_values_that_another_contract_can_set() -> None:
    rules = Rules(retention_ticks=2, create_status=200, replay_status=208, conflict_status=422)
    history = operations("0AAr", "1AAr", "1ABr", "2ABr")

    assert in_short(Model(rules).trace(history)) == ["200 1 1", "208 1 1", "422 - 1", "200 2 2"]
    assert in_short(faulty("body-blind", rules).trace(history))[2] == "208 1 1"


def test_each_fault_is_one_change_to_the_reference() -> None:
    unchanged = msgspec.structs.asdict(REFERENCE.variation)

    assert not any(unchanged.values())
    assert [sum(msgspec.structs.asdict(fault).values()) for fault in FAULTS.values()] == [1] * 4

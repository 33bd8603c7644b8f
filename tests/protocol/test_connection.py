"""One conversation as a state machine: every transition, and any split of the bytes."""

import itertools
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof_protocol.connection import (
    TRANSITIONS,
    Connection,
    EndOfOutput,
    Refusal,
    Result,
    State,
    Trigger,
)
from retryproof_protocol.errors import LocalProtocolError, RemoteProtocolError
from retryproof_protocol.framing import MAX_LINE_BYTES
from retryproof_protocol.messages import ContractReference, InitializeParams, Method, Operation

from tests.protocol.conversations import Violation, replay
from tests.strategies import chunkings, repeatable

TOO_LONG = b"x" * (MAX_LINE_BYTES + 2)


def result_line(request: int, result: str = "null") -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (request, result.encode())


def error_line(request: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no"}}' % request


def connection_in(state: State) -> Connection:
    connection = Connection()
    if state is State.AWAITING:
        connection.send("reset", {})
    elif state is State.ENDED:
        connection.receive(b"")
        connection.next_event()
    elif state is State.BROKEN:
        connection.receive(b"noise\n")
        with pytest.raises(RemoteProtocolError):
            connection.next_event()
    assert connection.state is state
    return connection


def request(connection: Connection) -> None:
    connection.send("reset", {})


def receives(data: Callable[[Connection], bytes]) -> Callable[[Connection], None]:
    def stimulate(connection: Connection) -> None:
        connection.receive(data(connection))
        connection.next_event()

    return stimulate


STIMULI: dict[Trigger, Callable[[Connection], None]] = {
    Trigger.REQUEST: request,
    Trigger.RESPONSE: receives(lambda connection: result_line(connection.last_id) + b"\n"),
    Trigger.UNASKED_LINE: receives(lambda _: b"an unasked line\n"),
    Trigger.VIOLATION: receives(lambda _: TOO_LONG),
    Trigger.END_OF_OUTPUT: receives(lambda _: b""),
}
VIOLATIONS = {Trigger.UNASKED_LINE, Trigger.VIOLATION}
NEVER = {(State.IDLE, Trigger.RESPONSE), (State.AWAITING, Trigger.UNASKED_LINE)}
"""A line while idle is unasked, whatever it says; a line while awaiting is the answer or wrong."""
REFUSED = set(itertools.product(State, Trigger)) - set(TRANSITIONS) - NEVER


def pair_id(value: State | Trigger) -> str:
    return value.name.lower()


@pytest.mark.parametrize(("state", "trigger"), TRANSITIONS, ids=pair_id)
def test_each_transition_leads_where_the_table_says(state: State, trigger: Trigger) -> None:
    connection = connection_in(state)

    if trigger in VIOLATIONS:
        with pytest.raises(RemoteProtocolError):
            STIMULI[trigger](connection)
    else:
        STIMULI[trigger](connection)

    assert connection.state is TRANSITIONS[state, trigger]


@pytest.mark.parametrize(("state", "trigger"), sorted(REFUSED), ids=pair_id)
def test_each_pair_outside_the_table_is_the_callers_mistake(state: State, trigger: Trigger) -> None:
    connection = connection_in(state)
    requests_before = connection.last_id

    with pytest.raises(LocalProtocolError):
        STIMULI[trigger](connection)

    assert connection.state is state
    assert connection.last_id == requests_before


def test_the_table_knows_all_states_and_triggers_and_no_way_back_from_the_end() -> None:
    assert {state for state, _ in TRANSITIONS} == {State.IDLE, State.AWAITING}
    assert {trigger for _, trigger in TRANSITIONS} == set(Trigger)
    assert set(TRANSITIONS.values()) == set(State)
    assert not NEVER & set(TRANSITIONS)


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        pytest.param(
            "initialize",
            InitializeParams(ContractReference("retry-conformance", 1)),
            {
                "protocolVersion": 1,
                "contract": {"name": "retry-conformance", "version": 1},
                "callTimeoutMs": 2000,
            },
            id="initialize",
        ),
        pytest.param("reset", {}, {}, id="reset"),
        pytest.param(
            "step",
            Operation(5, "B", "A", "lost"),
            {"at": 5, "key": "B", "value": "A", "delivery": "lost"},
            id="step",
        ),
        pytest.param("shutdown", {}, {}, id="shutdown"),
    ],
)
def test_a_request_is_one_line_of_json_as_the_protocol_has_it(
    method: Method, params: object, expected: object
) -> None:
    data = Connection().send(method, params)

    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert json.loads(data) == {"jsonrpc": "2.0", "id": 1, "method": method, "params": expected}


def test_ids_count_up_from_one_and_each_answer_is_for_the_latest() -> None:
    connection = Connection()
    for number in (1, 2, 3):
        assert json.loads(connection.send("reset", {}))["id"] == number
        connection.receive(result_line(number, '["kept"]') + b"\n")
        assert connection.next_event() == Result(["kept"], result_line(number, '["kept"]'))
    assert connection.next_event() is None


def test_an_error_is_an_answer_and_the_conversation_goes_on() -> None:
    connection = connection_in(State.AWAITING)
    connection.receive(error_line(1) + b"\n")

    event = connection.next_event()

    assert isinstance(event, Refusal)
    assert (event.error.code, event.error.message, event.line) == (-32000, "no", error_line(1))
    assert connection.state is State.IDLE


def test_a_late_answer_is_never_taken_for_the_next_requests() -> None:
    events = replay([result_line(1) + b"\n" + result_line(1) + b"\n"], 2)

    assert isinstance(events[0], Result)
    assert isinstance(events[1], Violation)
    assert events[1].rule == "wrong-id"
    assert "answered or given up before" in events[1].advice


def test_the_end_of_output_comes_after_the_lines_before_it() -> None:
    assert replay([result_line(1) + b"\n"], 1) == [Result(None, result_line(1)), EndOfOutput()]


def test_the_end_of_output_while_a_request_is_pending_is_an_event_of_its_own() -> None:
    assert replay([], 1) == [EndOfOutput()]


def test_the_part_of_a_line_that_has_arrived_can_be_shown() -> None:
    connection = connection_in(State.AWAITING)
    connection.receive(b'{"jsonrpc": "2.0", ')

    assert connection.next_event() is None
    assert connection.unfinished == b'{"jsonrpc": "2.0", '


def test_one_violation_is_told_once_and_nothing_after_it_is_read() -> None:
    connection = connection_in(State.AWAITING)
    connection.receive(b"noise\n" + result_line(1) + b"\n")
    with pytest.raises(RemoteProtocolError):
        connection.next_event()

    for call in (connection.next_event, lambda: connection.send("reset", {})):
        with pytest.raises(LocalProtocolError, match="broken"):
            call()


pieces = st.sampled_from(
    [
        result_line(1) + b"\n",
        result_line(2, '{"status":201,"receipt":1,"committedWrites":1}') + b"\r\n",
        result_line(3, '"\N{SNOWMAN}"') + b"\n",
        error_line(1) + b"\n",
        error_line(2) + b"\n",
        b"Listening on port 8080\n",
        b"\n",
        b"\r\n",
        b"\xff\xfe\n",
        b"[1]\n",
        b"{",
        b"\r",
    ]
)
streams = st.builds(
    lambda answers, tail: b"".join([result_line(i + 1) + b"\n" for i in range(answers)] + tail),
    st.integers(0, 4),
    st.lists(pieces, max_size=5),
)


@repeatable(200)
@given(st.data(), streams)
def test_any_split_of_the_bytes_gives_the_same_events(data: st.DataObject, stream: bytes) -> None:
    chunks = data.draw(chunkings(stream))

    assert replay(chunks, 4) == replay([stream], 4)


@repeatable(20)
@given(st.data(), st.integers(-1, 4), st.sampled_from([b"\n", b"\r\n", b"\r", b"", b"\nmore\n"]))
def test_any_split_of_a_line_around_the_limit_gives_the_same_events(
    data: st.DataObject, over: int, tail: bytes
) -> None:
    line = result_line(1)
    stream = line.ljust(MAX_LINE_BYTES + over) + tail
    edge = data.draw(st.integers(MAX_LINE_BYTES - 2, len(stream) - 1))

    assert replay([stream[:edge], stream[edge:]], 1) == replay([stream], 1)


def test_what_is_said_of_a_line_too_long_does_not_depend_on_its_pieces() -> None:
    whole = TOO_LONG + b"x" * 100 + b"\n"

    assert replay([whole], 1) == replay([TOO_LONG, whole[len(TOO_LONG) :]], 1)


def test_a_line_of_exactly_the_limit_is_an_answer() -> None:
    line = result_line(1).ljust(MAX_LINE_BYTES)

    assert replay([line + b"\r\n"], 1) == [Result(None, line), EndOfOutput()]

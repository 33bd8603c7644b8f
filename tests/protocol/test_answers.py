"""The results of `step`, `initialize` and `evaluate`: strict in form, and judged only in form."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof_protocol.answers import (
    as_integer,
    describe_type,
    parse_evaluation,
    parse_initialize_result,
    parse_observation,
    parse_response,
)
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import (
    MAX_SECONDS_PER_TICK,
    AdapterIdentity,
    Decision,
    DecisionStatus,
    Evaluation,
    InitializeResult,
    Observation,
)

from tests.strategies import repeatable

GOOD = '"status":201,"receipt":1,"committedWrites":1'


def line_with(result: str, head: str = '"jsonrpc":"2.0","id":7,') -> bytes:
    return f'{{{head}"result":{result}}}'.encode()


def observed(line: bytes) -> Observation:
    return parse_observation(parse_response(line, 7), line)


def step_result(**members: str) -> str:
    members = {"status": "201", "receipt": "1", "committedWrites": "1"} | members
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


def step_refusal(line: bytes) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as caught:
        observed(line)
    return caught.value


WELL_FORMED = {
    "create": ("{" + GOOD + "}", Observation(201, 1, 1)),
    "replay": (step_result(status="200", committedWrites="2"), Observation(200, 1, 2)),
    "conflict": (step_result(status="409", receipt="null"), Observation(409, None, 1)),
    "lost": (step_result(status="null", receipt="null"), Observation(None, None, 1)),
    "another order": ('{"committedWrites":1,"receipt":1,"status":201}', Observation(201, 1, 1)),
    "lowest": (step_result(status="100", committedWrites="0"), Observation(100, 1, 0)),
    "highest": (step_result(status="599", receipt="999"), Observation(599, 999, 1)),
    "a service's own failure": (step_result(status="503"), Observation(503, 1, 1)),
    "a receipt without a status": (step_result(status="null"), Observation(None, 1, 1)),
    "integral fractions": (step_result(status="201.0", receipt="1.00"), Observation(201, 1, 1)),
    "exponents": (step_result(status="2.01e2", receipt="10e-1"), Observation(201, 1, 1)),
    "negative zero": (step_result(committedWrites="-0.0"), Observation(201, 1, 0)),
    "too small for a float": (step_result(committedWrites="1e-400"), Observation(201, 1, 0)),
    "a name as an escape": (
        '{"st\\u0061tus":201,"receipt":1,"committedWrites":1}',
        Observation(201, 1, 1),
    ),
    "beyond 64 bits": (
        step_result(receipt=str(2**70), committedWrites=str(10**40)),
        Observation(201, 2**70, 10**40),
    ),
}


@pytest.mark.parametrize(
    ("result", "expected"),
    [pytest.param(*row, id=name) for name, row in WELL_FORMED.items()],
)
def test_a_well_formed_step_result_is_taken_whatever_it_says(
    result: str, expected: Observation
) -> None:
    observation = observed(line_with(result))

    assert observation == expected
    members = (observation.status, observation.receipt, observation.committed_writes)
    assert all(type(member) is int for member in members if member is not None)


NOT_THREE_MEMBERS = {
    "null": ("null", "is null, not an object"),
    "array": ("[201,1,1]", "is an array, not an object"),
    "string": ('"201"', "is a string, not an object"),
    "number": ("201", "is a number, not an object"),
    "boolean": ("true", "is a boolean, not an object"),
    "empty": ("{}", 'lacks "status"'),
    "writes missing": ('{"status":201,"receipt":1}', 'lacks "committedWrites"'),
    "receipt missing": ('{"status":201,"committedWrites":1}', 'lacks "receipt"'),
    "status missing": ('{"receipt":1,"committedWrites":1}', 'lacks "status"'),
    "snake case": ('{"status":201,"receipt":1,"committed_writes":1}', 'lacks "committedWrites"'),
    "extra": (step_result(body='"ok"'), 'has the member "body" besides'),
    "extra null": (step_result(error="null"), 'has the member "error" besides'),
    "extra control character": ('{"\\u001b":1,' + GOOD + "}", 'has the member "\\x1b" besides'),
}


@pytest.mark.parametrize(
    ("result", "problem"),
    [pytest.param(*row, id=name) for name, row in NOT_THREE_MEMBERS.items()],
)
def test_a_step_result_has_exactly_its_three_members(result: str, problem: str) -> None:
    refusal = step_refusal(line_with(result))

    assert refusal.rule == "step-result"
    assert refusal.message.startswith('The result of `step` in "{"jsonrpc"')
    assert refusal.message.endswith(f" {problem}.")
    assert "Return exactly" in refusal.advice


def test_the_name_of_a_member_besides_is_shown_in_part_if_it_is_long() -> None:
    refusal = step_refusal(line_with(step_result(**{"x" * 100_000: "1"})))

    assert refusal.rule == "step-result"
    assert len(refusal.message) < 1000


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param("true", "a boolean", id="true"),
        pytest.param("false", "a boolean", id="false"),
        pytest.param('"1"', "a string", id="a digit as a string"),
        pytest.param('""', "a string", id="an empty string"),
        pytest.param("[1]", "an array", id="array"),
        pytest.param("{}", "an object", id="object"),
        pytest.param("200.5", "a fraction", id="fraction"),
    ],
)
@pytest.mark.parametrize("member", ["status", "receipt", "committedWrites"])
def test_a_member_of_another_type_is_refused(member: str, value: str, kind: str) -> None:
    refusal = step_refusal(line_with(step_result(**{member: value})))

    assert refusal.rule == "step-result"
    assert f'has {kind} as "{member}", which must be an integer' in refusal.message


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        pytest.param({"status": "99"}, '"status" outside 100..599', id="status below"),
        pytest.param({"status": "600"}, '"status" outside 100..599', id="status above"),
        pytest.param({"status": "0"}, '"status" outside 100..599', id="status zero"),
        pytest.param({"status": "-201"}, '"status" outside 100..599', id="status negative"),
        pytest.param({"status": "1e300"}, '"status" outside 100..599', id="status huge"),
        pytest.param({"receipt": "0"}, '"receipt" below 1', id="receipt zero"),
        pytest.param({"receipt": "-1"}, '"receipt" below 1', id="receipt negative"),
        pytest.param({"committedWrites": "-1"}, '"committedWrites" below 0', id="writes negative"),
        pytest.param(
            {"committedWrites": "null"},
            'has null as "committedWrites", which must be an integer.',
            id="writes null",
        ),
    ],
)
def test_a_number_outside_its_range_is_refused(members: dict[str, str], problem: str) -> None:
    refusal = step_refusal(line_with(step_result(**members)))

    assert refusal.rule == "step-result"
    assert problem in refusal.message


tokens = st.sampled_from(
    ["0", "1", "200", "201", "599", "600", "-1", "1.0", "0.5", "1e2", "null", "true", '"1"', "{}"]
)
members = st.sampled_from(["status", "receipt", "committedWrites", "writes", "id", "jsonrpc"])
step_results = st.lists(st.tuples(members, tokens), max_size=5).map(
    lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
)
heads = st.lists(
    st.sampled_from(['"jsonrpc":"2.0",', '"id":7,', '"id":8,', '"result":1,']), max_size=3
).map("".join)
plain_lines = st.builds(
    line_with,
    step_results | st.builds(step_result, status=tokens, receipt=tokens, committedWrites=tokens),
    st.just('"jsonrpc":"2.0","id":7,') | heads,
)


def outcome(line: bytes) -> Observation | str:
    try:
        return observed(line)
    except RemoteProtocolError as error:
        return error.rule


@repeatable(400)
@given(plain_lines)
def test_a_member_that_nobody_asked_for_changes_nothing_about_an_answer(line: bytes) -> None:
    """So that no way of reading the plainest answers can differ from the one for all others."""
    assert outcome(line) == outcome(b'{"extra":0,' + line[1:])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1, 1, id="integer"),
        pytest.param(-0.0, 0, id="negative zero"),
        pytest.param(1e22, 10**22, id="large integral float"),
        pytest.param(1.5, None, id="fraction"),
        pytest.param(float("inf"), None, id="infinity"),
        pytest.param(float("nan"), None, id="not a number"),
        pytest.param(True, None, id="true"),
        pytest.param(False, None, id="false"),
        pytest.param("1", None, id="string"),
        pytest.param(None, None, id="null"),
        pytest.param([1], None, id="array"),
    ],
)
def test_only_a_number_with_an_integral_value_is_an_integer(value: Any, expected: Any) -> None:
    assert as_integer(value) == expected
    assert type(as_integer(value)) is type(expected)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("null", "null"),
        ("true", "a boolean"),
        ("1", "a number"),
        ("1.5", "a number"),
        ('"x"', "a string"),
        ("[]", "an array"),
        ("{}", "an object"),
    ],
)
def test_each_type_of_json_has_a_name_with_its_article(text: str, name: str) -> None:
    assert describe_type(json.loads(text)) == name


def initialized(result: str) -> InitializeResult:
    line = line_with(result)
    return parse_initialize_result(parse_response(line, 7), line)


@pytest.mark.parametrize(
    "number", ["1", "1.0", "1e0"], ids=["integer", "integral fraction", "exponent"]
)
def test_a_protocol_version_is_a_number_in_any_notation(number: str) -> None:
    result = initialized(f'{{"protocolVersion":{number},"adapter":{{"name":"n"}}}}')

    assert result == InitializeResult(1, AdapterIdentity("n"))


def test_another_protocol_version_is_the_callers_to_judge() -> None:
    assert initialized('{"protocolVersion":2,"adapter":{"name":"n"}}').protocol_version == 2


def test_an_adapter_says_who_it_is_and_members_of_later_versions_are_ignored() -> None:
    result = initialized(
        '{"protocolVersion":1,"since":2024,"capabilities":{"threads":8},'
        '"adapter":{"name":"n","version":"1.2","language":"Lua","license":"MIT"}}'
    )

    assert result == InitializeResult(1, AdapterIdentity("n", "1.2", "Lua"))


@pytest.mark.parametrize("seconds", ["1", "0.001", "600", "6e2"])
def test_an_adapter_without_a_test_clock_says_how_long_a_tick_takes(seconds: str) -> None:
    result = initialized(
        '{"protocolVersion":1,"adapter":{"name":"n"},'
        f'"capabilities":{{"clock":{{"secondsPerTick":{seconds}}}}}}}'
    )

    assert result.capabilities.clock is not None
    assert result.capabilities.clock.seconds_per_tick == float(seconds)


ADAPTER = '"adapter":{"name":"n"}'
VERSION = '"protocolVersion":1'
BAD_INITIALIZE = {
    "null": ("null", "object"),
    "array": ("[]", "object"),
    "a step's result": ("{" + GOOD + "}", "protocolVersion"),
    "no version": ("{" + ADAPTER + "}", "protocolVersion"),
    "no adapter": ("{" + VERSION + "}", "adapter"),
    "version true": ('{"protocolVersion":true,' + ADAPTER + "}", "protocolVersion"),
    "version a string": ('{"protocolVersion":"1",' + ADAPTER + "}", "protocolVersion"),
    "version a fraction": ('{"protocolVersion":1.5,' + ADAPTER + "}", "protocolVersion"),
    "adapter a string": ("{" + VERSION + ',"adapter":"n"}', "adapter"),
    "no name": ("{" + VERSION + ',"adapter":{}}', "name"),
    "name a number": ("{" + VERSION + ',"adapter":{"name":1}}', "adapter.name"),
    "adapter's version a number": (
        "{" + VERSION + ',"adapter":{"name":"n","version":2}}',
        "adapter.version",
    ),
    "capabilities an array": (
        "{" + VERSION + "," + ADAPTER + ',"capabilities":[]}',
        "capabilities",
    ),
}
BAD_CLOCKS = {
    "zero": "0",
    "negative": "-1",
    "a string": '"1"',
    "true": "true",
    "null": "null",
    "above the limit": str(MAX_SECONDS_PER_TICK + 0.5),
}
BAD_INITIALIZE |= {
    f"a tick of seconds {name}": (
        f'{{{VERSION},{ADAPTER},"capabilities":{{"clock":{{"secondsPerTick":{value}}}}}}}',
        "secondsPerTick",
    )
    for name, value in BAD_CLOCKS.items()
}


@pytest.mark.parametrize(
    ("result", "place"), [pytest.param(*row, id=name) for name, row in BAD_INITIALIZE.items()]
)
def test_an_initialize_result_out_of_form_is_malformed(result: str, place: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        initialized(result)

    assert caught.value.rule == "initialize-result"
    assert caught.value.message.startswith('The result of `initialize` in "{"jsonrpc"')
    assert "is not in form" in caught.value.message
    assert place in caught.value.message
    assert '"protocolVersion": 1' in caught.value.advice


@pytest.mark.parametrize("decision", get_args(Decision))
@pytest.mark.parametrize("status", get_args(DecisionStatus))
def test_any_decision_and_status_of_the_contract_are_an_evaluation(
    decision: Any, status: Any
) -> None:
    line = line_with(json.dumps({"status": status, "decision": decision}))

    assert parse_evaluation(parse_response(line, 7), line) == Evaluation(decision, status)


BAD_EVALUATIONS = {
    "null": "expected `object`, got `null`",
    '"brake"': "expected `object`, got `str`",
    "{}": "object missing required field `decision`",
    '{"decision":"brake"}': "object missing required field `status`",
    '{"decision":"Brake","status":"fail"}': "invalid enum value 'Brake'",
    '{"decision":"brake","status":"unverified"}': "invalid enum value 'unverified'",
    '{"decision":null,"status":"fail"}': "expected `str`, got `null`",
    '{"decision":"brake","status":"fail","exit":2}': "object contains unknown field `exit`",
}


@pytest.mark.parametrize("result", BAD_EVALUATIONS)
def test_an_evaluation_out_of_form_is_malformed(result: str) -> None:
    line = line_with(result)

    with pytest.raises(RemoteProtocolError) as caught:
        parse_evaluation(parse_response(line, 7), line)

    assert caught.value.rule == "evaluate-result"
    assert BAD_EVALUATIONS[result] in caught.value.message
    assert "refuse a malformed input with an error" in caught.value.advice

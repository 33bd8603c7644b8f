"""Reading an input: each refusal names its place and says what is wanted, all in one pass."""

import json
import re
from typing import Any

import pytest
from msgspec import UNSET
from retryproof.fuse import (
    Attempt,
    Operation,
    Problem,
    Request,
    Unverified,
    evaluate,
    evaluate_json,
    read_request,
)
from retryproof.fuse.attempts import MAX_ATTEMPTS
from retryproof.fuse.examination import MAX_PROBLEMS
from retryproof.fuse.reading import MAX_INPUT_BYTES

from tests.fuse.strategies import BODY, HASH, OTHER_HASH, encoded

ENDPOINT = {"operation": {"endpoint": "e"}}


def problems(data: bytes) -> list[tuple[str, str]]:
    answer = read_request(data)
    assert isinstance(answer, Unverified), answer
    assert evaluate_json(data) == answer
    return [(problem.path, problem.message) for problem in answer.errors]


def with_attempt(**attempt: Any) -> dict[str, Any]:
    return {**ENDPOINT, "attempts": [{}, attempt]}


def with_operation(**members: Any) -> dict[str, Any]:
    return {"operation": {"endpoint": "e", **members}}


HEX = "must be a sha256 of 64 hex digits, is "
AMOUNT = "must be a finite number from 0, is "
REFUSALS: list[tuple[Any, str, str]] = [
    ([], "", "must be an object, is an array."),
    (None, "", "must be an object, is null."),
    ({}, "operation", "is missing."),
    ({"operation": None}, "operation", "must be an object, is null."),
    ({"operation": {}}, "operation.endpoint", "is missing."),
    ({"operation": {"endpoint": " "}}, "operation.endpoint", 'is the string " ".'),
    ({"operation": {"endpoint": 5}}, "operation.endpoint", "is the number 5."),
    (with_operation(idempotencyKey=None), "operation.idempotencyKey", "not blank, is null."),
    (with_operation(idempotencyKey="k" * 300), "operation.idempotencyKey", "has 300 characters"),
    (with_operation(requestHash="ab"), "operation.requestHash", f'{HEX}the string "ab" of 2 '),
    (with_operation(requestHash=1), "operation.requestHash", f"{HEX}the number 1."),
    (with_operation(body=[2**53 + 1]), "operation.body[0]", "is a number that a double would"),
    (with_operation(requestHash=OTHER_HASH, body=BODY), "operation.requestHash", f"it, {HASH}."),
    (with_operation(verb="x"), "operation.verb", "is not allowed here: only endpoint, idempo"),
    ({**ENDPOINT, "priorRecrod": None}, "priorRecrod", "only contractVersion, operation,"),
    ({**ENDPOINT, "contractVersion": "1"}, "contractVersion", 'integer 1, is the string "1".'),
    ({**ENDPOINT, "contractVersion": True}, "contractVersion", "must be the integer 1, is true."),
    ({**ENDPOINT, "attempts": {}}, "attempts", "must be an array of attempts, is an object."),
    ({**ENDPOINT, "attempts": [{}, 5]}, "attempts[1]", "must be an object, is the number 5."),
    (with_attempt(outcome="ok"), "attempts[1].outcome", '"timeout" or "unknown", is the string'),
    (with_attempt(phase=[]), "attempts[1].phase", '"pre_write", "post_write" or "unknown", is an'),
    (with_attempt(costUnits=-1), "attempts[1].costUnits", f"{AMOUNT}the number -1."),
    (with_attempt(costUnits="1"), "attempts[1].costUnits", f'{AMOUNT}the string "1".'),
    ({**ENDPOINT, "priorRecord": []}, "priorRecord", "must be an object or null, is an array."),
    ({**ENDPOINT, "priorRecord": {"status": ""}}, "priorRecord.status", '"in_flight" or "comp'),
    (
        {**ENDPOINT, "priorRecord": {"writeCommitted": "yes"}},
        "priorRecord.writeCommitted",
        'must be true, false or "unknown", is the string "yes".',
    ),
    ({**ENDPOINT, "policy": {"failureThreshold": 0}}, "policy.failureThreshold", "from 1, is the"),
    ({**ENDPOINT, "policy": {"budgetUnits": None}}, "policy.budgetUnits", f"{AMOUNT}null."),
]


@pytest.mark.parametrize(("value", "path", "message"), REFUSALS)
def test_a_refusal_names_the_place_and_what_is_wanted(value: Any, path: str, message: str) -> None:
    [(found_path, found_message)] = problems(encoded(value))

    assert found_path == path
    assert message in found_message
    assert found_message.endswith(".")


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("", "", "is not JSON: "),
        ("{", "", "is not JSON: "),
        ('{"operation":{"endpoint":"e"}} x', "", "is not JSON: trailing characters"),
        ('{"operation":{"endpoint":"e","endpoint":"e"}}', "operation.endpoint", "is there twice."),
        (
            '{"operation":{"endpoint":"e"},"attempts":[{"costUnits":1e999}]}',
            "attempts[0].costUnits",
            f"{AMOUNT}the number 1e999.",
        ),
        (
            '{"operation":{"endpoint":"e"},"attempts":[{"costUnits":1e-999}]}',
            "attempts[0].costUnits",
            f"{AMOUNT}the number 1e-999.",
        ),
        (
            '{"operation":{"endpoint":"e"},"policy":{"failureThreshold":1.00000000000000000001}}',
            "policy.failureThreshold",
            "from 1, is the number 1.00000000000000000001.",
        ),
        ('{"operation":{"endpoint":1e999}}', "operation.endpoint", "is the number 1e999."),
        ('{"operation":{"endpoint":"e","body":{"a":1e999}}}', "operation.body.a", "is a number"),
    ],
)
def test_refusals_of_texts(text: str, path: str, message: str) -> None:
    [(found_path, found_message)] = problems(text.encode())

    assert found_path == path
    assert message in found_message


WHOLE = (
    '{"contractVersion":1,"operation":{"endpoint":"e","idempotencyKey":"k","requestHash":'
    f'"{HASH}","body":{encoded(BODY).decode()}}},"attempts":[{{"outcome":"failure","phase":"unknown",'
    f'"costUnits":1}}],"priorRecord":{{"status":"completed","requestHash":"{HASH}",'
    '"writeCommitted":true},"policy":{"failureThreshold":3,"budgetUnits":9}}'
)
MEMBERS = [match.start() for match in re.finditer('"[A-Za-z]+":', WHOLE)]


def test_no_member_is_written_twice_among_the_members_to_repeat() -> None:
    assert isinstance(read_request(WHOLE.encode()), Request)
    assert len(MEMBERS) == WHOLE.count(":")


@pytest.mark.parametrize("start", MEMBERS)
@pytest.mark.parametrize("endpoint", ["e", ":", "::", r"\u003a", r"\u003A\u003a"])
@pytest.mark.parametrize("space", ["", " "])
def test_a_member_that_is_there_twice_is_found_wherever_it_is(
    start: int, endpoint: str, space: str
) -> None:
    value, _ = json.JSONDecoder().raw_decode(WHOLE, WHOLE.index(":", start) + 1)
    member = f"{WHOLE[start : WHOLE.index(':', start)]}{space}:{json.dumps(value)},"
    text = f"{WHOLE[:start]}{member}{WHOLE[start:]}"

    [(path, message)] = problems(
        text.replace('"endpoint":"e"', f'"endpoint":"{endpoint}"').encode()
    )

    assert path.endswith(member.partition('"')[2].partition('"')[0])
    assert message == "is there twice."


@pytest.mark.parametrize("endpoint", ["e", "a:b", r"a\u003ab", r"\u003a::"])
@pytest.mark.parametrize("body", ['":"', '{"a:":[":"]}', r'["\u003a",{":":"\u003A:"}]', "[[]]"])
def test_colons_in_strings_are_no_members(endpoint: str, body: str) -> None:
    text = f'{{"operation":{{"endpoint":"{endpoint}","body":{body}}}}}'

    assert read_request(text.encode()) == Request(
        Operation(json.loads(f'"{endpoint}"'), body=json.loads(body))
    )


@pytest.mark.parametrize("first", ["1", '":"', r'"\u003a"', '{"b":1}'])
@pytest.mark.parametrize("last", ["1", '":"', '"::"', r'"\u003a"', r'"\u003a\u003a"', '{"b":1}'])
def test_no_colon_of_a_body_makes_up_for_a_member(first: str, last: str) -> None:
    text = f'{{"operation":{{"endpoint":"e","body":{{"a":{first},"a":{last}}}}}}}'

    assert problems(text.encode()) == [("operation.body.a", "is there twice.")]


def test_bytes_that_are_not_utf_8() -> None:
    assert problems(b'{"a":"\xff"}') == [("", "is not UTF-8 at byte 6.")]


def test_all_problems_are_found_in_one_pass() -> None:
    value = {
        "contractVersion": 2,
        "operation": {"endpoint": "", "requestHash": "x", "body": [1e999, 2**53 + 1]},
        "attempts": [{"outcome": "ok"}, {}, {"phase": "?", "costUnits": -1, "at": 1}],
        "priorRecord": {"status": "done"},
        "policy": {"failureThreshold": 0, "budgetUnits": "x"},
        "record": None,
    }

    found = problems(json.dumps(value).replace("Infinity", "1e999").encode())

    assert [path for path, _ in found] == [
        "contractVersion",
        "operation.endpoint",
        "operation.requestHash",
        "operation.body[0]",
        "operation.body[1]",
        "attempts[0].outcome",
        "attempts[2].phase",
        "attempts[2].costUnits",
        "attempts[2].at",
        "priorRecord.status",
        "policy.failureThreshold",
        "policy.budgetUnits",
        "record",
    ]


def test_a_hash_that_is_not_the_bodys_is_found_beside_other_problems() -> None:
    operation = {"endpoint": "", "requestHash": OTHER_HASH, "body": BODY}

    assert [path for path, _ in problems(encoded({"operation": operation}))] == [
        "operation.endpoint",
        "operation.requestHash",
    ]


@pytest.mark.parametrize(
    ("attempts", "unlisted"),
    [(MAX_ATTEMPTS, "has 9,900 more problems."), (MAX_PROBLEMS + 1, "has 1 more problem.")],
)
def test_problems_beyond_a_hundred_are_counted(attempts: int, unlisted: str) -> None:
    found = problems(encoded({**ENDPOINT, "attempts": [{"costUnits": -1}] * attempts}))

    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == ("", unlisted)


def test_a_hash_of_one_character_is_described_so() -> None:
    operation = {"endpoint": "/", "requestHash": "a"}

    ((_, problem),) = problems(encoded({"operation": operation}))

    assert " of 1 character;" in problem or " of 1 character." in problem, problem


def test_a_hundred_problems_are_all_listed() -> None:
    found = problems(encoded({**ENDPOINT, "attempts": [{"costUnits": -1}] * MAX_PROBLEMS}))

    assert found[-1][0] == "attempts[99].costUnits"


def test_names_and_values_are_shown_short_and_without_control_characters() -> None:
    name = "\u202e\x1b[2J" + "x" * 1000
    [unknown, outcome] = problems(encoded({**with_attempt(outcome=name), name: 1}))[::-1]

    assert unknown[0].startswith("\\u202e\\x1b[2Jxxx")
    assert len(unknown[0]) < 250
    assert '"\\u202e\\x1b[2Jxxx' in outcome[1]
    assert len(outcome[1]) < 250


def test_the_size_is_limited_to_16_mib() -> None:
    text = b'{"operation":{"endpoint":"e"}}'
    largest = text + b" " * (MAX_INPUT_BYTES - len(text))

    assert isinstance(read_request(largest), Request)
    assert problems(largest + b" ") == [
        ("", "is 16,777,217 bytes; an input has at most 16,777,216.")
    ]


def test_an_input_has_at_most_10000_attempts() -> None:
    most = {**ENDPOINT, "attempts": [{}] * MAX_ATTEMPTS}

    assert isinstance(read_request(encoded(most)), Request)
    assert problems(encoded({**ENDPOINT, "attempts": [{}] * (MAX_ATTEMPTS + 1)})) == [
        ("attempts", "has 10,001 attempts; at most 10,000 may be.")
    ]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(("depth", "is_read"), [(98, True), (99, False), (100_000, False)])
def test_an_input_is_at_most_100_deep(opening: str, depth: int, is_read: bool) -> None:
    closing = "]" if opening == "[" else "}"
    body = opening * depth + ("" if opening == "[" else "1") + closing * depth

    request = read_request(f'{{"operation":{{"endpoint":"e","body":{body}}}}}'.encode())

    assert isinstance(request, Request) == is_read
    if isinstance(request, Unverified):
        assert "nested" in request.errors[0].message


def test_left_out_members_are_unset() -> None:
    request = read_request(encoded(with_attempt()))

    assert request == Request(Operation("e"), attempts=(Attempt(), Attempt()))
    assert isinstance(request, Request)
    assert request.policy is UNSET
    assert request.prior_record is UNSET


def test_left_out_members_count_as_the_defaults_of_the_contract() -> None:
    short = evaluate_json(encoded({"operation": {"endpoint": "e"}, "attempts": [{}]}))
    long = evaluate_json(
        encoded(
            {
                "contractVersion": 1,
                "operation": {"endpoint": "e"},
                "attempts": [{"outcome": "unknown", "phase": "unknown", "costUnits": 1}],
                "priorRecord": None,
                "policy": {"failureThreshold": 5, "budgetUnits": 100},
            }
        )
    )

    assert short == long


def test_a_number_with_a_fraction_of_zero_is_an_integer() -> None:
    request = read_request(
        b'{"contractVersion":1.0,"operation":{"endpoint":"e"},"policy":{"failureThreshold":3e0}}'
    )

    assert isinstance(request, Request)
    assert evaluate(request).circuit.failure_threshold == 3


def test_a_problem_is_a_value() -> None:
    assert read_request(b"[]") == Unverified(
        errors=(Problem("", "must be an object, is an array."),)
    )

"""Each way of being malformed has a rule, quotes the line, and says what to do about it."""

import pytest
from retryproof_protocol.connection import Connection, Refusal, Result
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.framing import MAX_LINE_BYTES

from tests.protocol.conversations import answer_to, replay, violation_of

HEAD = b'{"jsonrpc":"2.0","id":1,'
ANSWER = HEAD + b'"result":null}'
STDERR = "send logs and prints to stderr"
ONE_LINE = "one line of compact JSON"
WRITER = "your language's JSON writer"

NOT_JSON = {
    "banner": (b"Server listening on :8080", 'The line "Server listening', "Something printed"),
    "banner that is told about stderr": (b"ready", 'The line "ready" is not JSON', STDERR),
    "header of another framing": (b"Content-Length: 38", '"Content-Length: 38"', STDERR),
    "python repr": (b"None", 'The line "None" is not JSON', STDERR),
    "single quotes": (b"{'jsonrpc': '2.0'}", "The line \"{'jsonrpc'", "Single quotes are no JSON"),
    "single quotes after a space": (b"{ 'id': 1}", "The line \"{ 'id'", "json.dumps in Python"),
    "two objects": (ANSWER + ANSWER, 'The line "{"jsonrpc"', "Two answers stand on one line"),
    "two objects with a space": (ANSWER + b" " + ANSWER, '"{"jsonrpc"', "Two answers"),
    "trailing data": (ANSWER + b" done", "is not JSON: trailing characters", ONE_LINE),
    "trailing comma": (HEAD + b'"result":null,}', "is not JSON: trailing comma", WRITER),
    "comment": (b"// an answer", 'The line "// an answer"', STDERR),
    "pretty-printed": (b"{", 'The line "{" is not JSON', "spread over several lines"),
    "pretty-printed array": (b"[", 'The line "[" is not JSON', "spread over several lines"),
    "cut off": (HEAD + b'"res', 'The line "{"jsonrpc"', ONE_LINE),
    "blank": (b"", 'The line "" is not JSON', "It is blank"),
    "blank but for spaces": (b" \t ", 'The line " \\t " is not JSON', "It is blank"),
    "byte-order mark": (b"\xef\xbb\xbf" + ANSWER, 'The line "\\ufeff{"json', "byte-order mark"),
    "NaN": (HEAD + b'"result":NaN}', 'The line "{"jsonrpc"', "no NaN and no Infinity"),
    "Infinity": (HEAD + b'"result": Infinity}', 'The line "{"jsonrpc"', "no NaN and no Infinity"),
    "-Infinity": (HEAD + b'"result":[-Infinity]}', 'The line "{"json', "no NaN and no Infinity"),
    "undefined": (HEAD + b'"result":undefined}', 'The line "{"jsonrpc"', WRITER),
    "number out of range": (HEAD + b'"result":1e999}', "is not JSON: number out of", WRITER),
    "deep nesting": (b"[" * 10**5, "is nested too deeply", STDERR),
    "deep nesting in a result": (HEAD + b'"result":' + b"[" * 10**5, "nested too deeply", WRITER),
    "lone surrogate": (HEAD + b'"result":"\\ud800"}', 'The line "{"jsonrpc"', WRITER),
    "NUL": (b"\x00" + ANSWER, 'The line "\\x00{"json', "NUL characters"),
    "UTF-16 without a mark": (ANSWER.decode().encode("utf-16-le"), 'The line "{\\x00', "UTF-16"),
    "UTF-16, other end first": (ANSWER.decode().encode("utf-16-be"), '"\\x00{', "UTF-16"),
}


@pytest.mark.parametrize(
    ("line", "message", "advice"), [pytest.param(*row, id=name) for name, row in NOT_JSON.items()]
)
def test_a_line_that_is_not_json_is_quoted_and_its_cause_is_guessed(
    line: bytes, message: str, advice: str
) -> None:
    violation = violation_of(line + b"\n")

    assert violation.rule == "not-json"
    assert violation.message.startswith('The line "')
    assert message in violation.message
    assert advice in violation.advice


@pytest.mark.parametrize(
    ("line", "message", "advice"),
    [
        pytest.param(b'"done"', 'The line ""done"" is a string, not an object.', STDERR, id="text"),
        pytest.param(b"42", 'The line "42" is a number, not an object.', STDERR, id="number"),
        pytest.param(b"-0.5", "is a number, not an object.", STDERR, id="fraction"),
        pytest.param(b"true", "is a boolean, not an object.", STDERR, id="boolean"),
        pytest.param(b"null", "is null, not an object.", STDERR, id="null"),
        pytest.param(b"[" + ANSWER + b"]", "is an array, not an object.", STDERR, id="batch"),
    ],
)
def test_json_that_is_no_object_is_no_answer(line: bytes, message: str, advice: str) -> None:
    violation = violation_of(line + b"\n")

    assert violation.rule == "not-an-object"
    assert message in violation.message
    assert advice in violation.advice


@pytest.mark.parametrize(
    ("line", "message", "advice"),
    [
        pytest.param(
            b"caf\xe9", 'The line "caf\\xe9" is not UTF-8 at byte 3.', "UTF-8", id="latin1"
        ),
        pytest.param(
            HEAD + b'"result":"\xc0\xaf"}', "is not UTF-8 at byte 34.", "Encode", id="overlong"
        ),
        pytest.param(b'"\xed\xa0\x80"', "is not UTF-8 at byte 1.", "Encode", id="surrogate"),
        pytest.param(ANSWER.decode().encode("utf-16"), '"\\xff\\xfe{\\x00', "UTF-16", id="UTF-16"),
        pytest.param(b'{"a":"\xf0\x9f\x98', "is not UTF-8 at byte 6.", "Encode", id="half a rune"),
    ],
)
def test_bytes_that_are_not_utf_8_are_shown_as_escapes(
    line: bytes, message: str, advice: str
) -> None:
    violation = violation_of(line + b"\n")

    assert violation.rule == "not-utf8"
    assert message in violation.message
    assert advice in violation.advice


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"id":1,"result":null}', id="missing"),
        pytest.param(b'{"jsonrpc":2.0,"id":1,"result":null}', id="a number"),
        pytest.param(b'{"jsonrpc":"1.0","id":1,"result":null}', id="another version"),
        pytest.param(b'{"jsonrpc":null,"id":1,"result":null}', id="null"),
        pytest.param(b"{}", id="empty object"),
        pytest.param(b'{"level":"info","msg":"ready"}', id="a log line in JSON"),
        pytest.param(
            b'{"id":1,"note":0,"result":{"status":201,"receipt":1,"committedWrites":1}}',
            id="an otherwise good step",
        ),
    ],
)
def test_an_object_without_the_version_of_json_rpc_is_no_answer(line: bytes) -> None:
    violation = violation_of(line + b"\n")

    assert violation.rule == "not-jsonrpc-2.0"
    assert violation.message == f'The line "{line.decode()}" has no "jsonrpc": "2.0".'
    assert "Answer with" in violation.advice
    assert STDERR in violation.advice


@pytest.mark.parametrize(
    ("member", "message", "advice"),
    [
        pytest.param(b"", 'has no "id"; the pending request\'s is 1', "Echo the id", id="missing"),
        pytest.param(b'"id":"1",', 'has the string "1" as its "id"', "not a string", id="string"),
        pytest.param(b'"id":null,', 'has another "id"', "could not read the request", id="null"),
        pytest.param(b'"id":2,', 'has another "id" than the pending', "Echo the id", id="later"),
        pytest.param(b'"id":0,', 'has another "id" than the pending', "Echo the id", id="zero"),
        pytest.param(
            b'"id":-1,', 'has another "id" than the pending', "Echo the id", id="negative"
        ),
        pytest.param(b'"id":true,', 'has another "id" than', "Echo the id", id="true is no 1"),
        pytest.param(b'"id":1.5,', 'has another "id" than', "Echo the id", id="fraction"),
        pytest.param(b'"id":[1],', 'has another "id" than', "Echo the id", id="array"),
        pytest.param(b'"id":' + b"9" * 400 + b",", 'has another "id"', "Echo", id="huge"),
    ],
)
def test_another_id_than_the_pending_one_is_no_answer(
    member: bytes, message: str, advice: str
) -> None:
    violation = violation_of(b'{"jsonrpc":"2.0",' + member + b'"result":null}\n')

    assert violation.rule == "wrong-id"
    assert message in violation.message
    assert advice in violation.advice


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "10e-1"])
def test_an_id_is_a_number_in_any_notation(number: str) -> None:
    assert answer_to(b'{"jsonrpc":"2.0","id":%s,"result":[]}' % number.encode()) == []


def test_a_member_that_is_not_asked_for_in_an_answer_is_ignored() -> None:
    assert answer_to(HEAD + b'"result":7,"took":0.5}') == 7


@pytest.mark.parametrize(
    ("members", "which"),
    [
        pytest.param(b'"result":1,"error":{"code":1,"message":"no"}', "both", id="both"),
        pytest.param(b'"result":1,"error":null', "both", id="result and a null error"),
        pytest.param(b'"result":null,"error":{"code":1,"message":"n"}', "both", id="null result"),
        pytest.param(b'"method":"reset","params":{}', "neither", id="a request"),
        pytest.param(b'"results":1', "neither", id="misspelled"),
    ],
)
def test_an_answer_has_a_result_or_an_error(members: bytes, which: str) -> None:
    violation = violation_of(HEAD + members + b"}\n")

    assert violation.rule == "result-or-error"
    assert f'has {which} of "result" and "error"' in violation.message
    assert "never both" in violation.advice


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(b"null", id="null"),
        pytest.param(b'"no"', id="text"),
        pytest.param(b"{}", id="empty"),
        pytest.param(b'{"code":1}', id="no message"),
        pytest.param(b'{"message":"no"}', id="no code"),
        pytest.param(b'{"code":"1","message":"no"}', id="code as text"),
        pytest.param(b'{"code":true,"message":"no"}', id="code true"),
        pytest.param(b'{"code":1.5,"message":"no"}', id="code a fraction"),
        pytest.param(b'{"code":1,"message":null}', id="message null"),
        pytest.param(b'{"code":1,"message":["no"]}', id="message an array"),
    ],
)
def test_an_error_object_out_of_form_is_malformed(error: bytes) -> None:
    violation = violation_of(HEAD + b'"error":' + error + b"}\n")

    assert violation.rule == "error-object"
    assert 'has an "error" that is not in form' in violation.message
    assert '{"code": -32000, "message": "..."}' in violation.advice


@pytest.mark.parametrize("code", ["-32000.0", "-32e3"])
def test_an_error_code_is_a_number_in_any_notation(code: str) -> None:
    """Some languages have no other numbers: their adapters' own errors must come through."""
    event = replay([HEAD + b'"error":{"code":%s,"message":"no"}}\n' % code.encode()], 1)[0]

    assert isinstance(event, Refusal), event
    assert event.error.code == -32000


@pytest.mark.parametrize(
    ("members", "path"),
    [
        pytest.param(b'"id":1,"result":null', "id", id="id"),
        pytest.param(b'"result":1,"result":1', "result", id="result"),
        pytest.param(b'"result":{"a":{"b":1,"b":1}}', "result.a.b", id="inside the result"),
        pytest.param(b'"result":[0,{"a":1,"\\u0061":2}]', "result[1].a", id="one as an escape"),
        pytest.param(b'"result":":","result":":"', "result", id="beside colons in strings"),
        pytest.param(b'"result":null,"":1,"":2', "", id="the empty name"),
        pytest.param(b'"result":{"":1,"":2}', "result.", id="the empty name in the result"),
        pytest.param(
            b'"id":1,"result":{"status":201,"receipt":1,"committedWrites":1}',
            "id",
            id="a step's id",
        ),
        pytest.param(
            b'"result":{"status":201,"status":201,"receipt":1,"committedWrites":1}',
            "result.status",
            id="a step's status",
        ),
    ],
)
def test_a_repeated_member_is_named_with_its_path(members: bytes, path: str) -> None:
    violation = violation_of(HEAD + members + b"}\n")

    assert violation.rule == "repeated-member"
    assert f'has the member "{path}" twice.' in violation.message
    assert violation.advice == "Write each member once."


def test_a_repeated_id_does_not_stand_in_for_a_missing_version() -> None:
    violation = violation_of(
        b'{"id":1,"id":1,"result":{"status":201,"receipt":1,"committedWrites":1}}\n'
    )

    assert violation.rule == "repeated-member"


def test_the_name_of_a_repeated_member_cannot_reach_the_terminal_raw() -> None:
    violation = violation_of(HEAD + b'"result":{"\\u001b[2J":1,"\\u001b[2J":2}}\n')

    assert violation.message.isprintable()


def test_the_name_of_a_repeated_member_is_shown_in_part_if_it_is_long() -> None:
    name = b"n" * 100_000

    violation = violation_of(HEAD + b'"%s":1,"%s":2}\n' % (name, name))

    assert violation.rule == "repeated-member"
    assert len(violation.message) < 1000


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        pytest.param(b"Listening on :8080", STDERR, id="noise"),
        pytest.param(b"", STDERR, id="blank"),
        pytest.param(ANSWER, "Answer each request once", id="second answer"),
        pytest.param(b"  " + ANSWER, "Answer each request once", id="indented answer"),
    ],
)
@pytest.mark.parametrize("asked", [False, True], ids=["before any request", "after an answer"])
def test_a_line_when_no_request_is_pending_is_malformed(
    written: bytes, advice: str, asked: bool
) -> None:
    connection = Connection()
    if asked:
        connection.send("reset", {})
        connection.receive(ANSWER + b"\n")
        assert isinstance(connection.next_event(), Result)
    connection.receive(written + b"\n")

    with pytest.raises(RemoteProtocolError) as caught:
        connection.next_event()

    assert caught.value.rule == "unasked-line"
    assert caught.value.message.startswith(f'The adapter wrote the line "{written.decode()}"')
    assert "while no request was pending" in caught.value.message
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(ANSWER, id="a whole answer without its end"),
        pytest.param(b'{"jsonrpc', id="half an answer"),
        pytest.param(b"\r", id="half a line end"),
        pytest.param(ANSWER + b"\nPanic", id="after an answer"),
    ],
)
def test_the_end_of_output_in_mid_line_is_malformed(written: bytes) -> None:
    violation = violation_of(written)

    assert violation.rule == "ended-in-mid-line"
    assert violation.message.startswith('Stdout ended in the middle of a line: "')
    assert "flush" in violation.advice


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["without an end", "with an end"])
def test_a_line_over_the_limit_is_malformed_with_or_without_its_end(end: bytes) -> None:
    violation = violation_of(b"progress " * (MAX_LINE_BYTES // 8) + end)

    assert violation.rule == "line-too-long"
    assert 'longer than 1 MiB (1,048,576 bytes). It starts "progress progress' in violation.message
    assert ONE_LINE in violation.advice
    assert len(violation.message) < 300


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\x1b[2J\x1b]0;owned\x07", id="terminal sequences"),
        pytest.param("\u202egnp.exe".encode(), id="bidirectional override"),
        pytest.param(b"a\x00b\x08\x7f\x9b", id="control bytes"),
        pytest.param("\u2028\u200b\ufeff".encode(), id="invisible characters"),
    ],
)
def test_what_was_written_never_reaches_the_terminal_raw(line: bytes) -> None:
    violation = violation_of(line + b"\n")

    assert violation.message.isprintable()
    assert violation.advice.isprintable()

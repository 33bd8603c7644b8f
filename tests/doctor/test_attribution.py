"""Which check a refused line belongs to."""

import pytest
from retryproof.doctor.attribution import check_of_a_line, looks_like_an_answer
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import Method

ANSWER = b'{"jsonrpc": "2.0", "id": 3, "result": null}'


@pytest.mark.parametrize(
    "line",
    [
        ANSWER,
        b"{",
        b"  {",
        b"\xef\xbb\xbf" + ANSWER,
        b"\x00" + ANSWER,
        ANSWER.decode().encode("utf-16"),
        ANSWER.decode().encode("utf-16-le"),
        ANSWER.replace(b'"', b"'"),
        b'{"id": 3, "result": null}',
        b'{"jsonrpc": "1.0"}',
        ANSWER + ANSWER,
    ],
)
def test_an_answer_that_was_written_badly_still_looks_like_one(line: bytes) -> None:
    assert looks_like_an_answer(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r",
        b"ready> " + ANSWER,
        b"Service ready on port 8080",
        b"[]",
        b"null",
        b'{"level": 30, "msg": "result"}',
        b"{...}",
        b"\x1b[32mINFO\x1b[0m started",
    ],
)
def test_a_log_or_a_banner_does_not(line: bytes) -> None:
    assert not looks_like_an_answer(line)


@pytest.mark.parametrize(
    ("method", "rule", "line", "check"),
    [
        ("step", "unasked-line", ANSWER, "stdout"),
        ("step", "wrong-id", ANSWER, "ids"),
        ("step", "wrong-id", b"an earlier answer", "stdout"),
        ("initialize", "not-json", b"hello", "stdout"),
        ("initialize", "not-json", b"{", "initialize"),
        ("reset", "not-utf8", b"caf\xe9", "stdout"),
        ("reset", "not-utf8", b'{"result": "caf\xe9"}', "reset"),
        ("step", "line-too-long", b"x", "stdout"),
        ("step", "line-too-long", ANSWER, "step"),
        ("step", "result-or-error", b"{}", "step"),
        ("step", "step-result", b"", "step"),
        ("initialize", "ended-in-mid-line", b"Traceback", "starts"),
        ("initialize", "ended-in-mid-line", b'{"jsonrpc": "2.', "initialize"),
        ("step", "ended-in-mid-line", b"Traceback", "step"),
        ("shutdown", "not-json", b"bye", "stdout"),
        ("shutdown", "result-or-error", ANSWER, "leaves"),
    ],
)
def test_the_check_of_a_line(method: Method, rule: str, line: bytes, check: str) -> None:
    problem = RemoteProtocolError(rule, "It was refused.")
    assert check_of_a_line(method, problem, line, [b"an earlier answer"]) == check

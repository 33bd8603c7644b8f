"""Hostile input: a report or a clear refusal, nothing else, whatever the bytes."""

import ast
from pathlib import Path

import pytest
import retryproof.fuse
from hypothesis import given
from hypothesis import strategies as st
from retryproof.fuse import Report, Unverified, encode, evaluate_json
from retryproof_protocol.strictjson import decode

from tests.hostile import HOSTILE
from tests.strategies import repeatable

MEBIBYTE = 2**20
PLACES = {
    "alone": b"%s",
    "as the operation": b'{"operation":%s}',
    "as the body": b'{"operation":{"endpoint":"e","body":%s}}',
    "in the body": b'{"operation":{"endpoint":"e","body":{"a":[%s]}}}',
    "as a cost": b'{"operation":{"endpoint":"e"},"attempts":[{"costUnits":%s}]}',
    "as a record": b'{"operation":{"endpoint":"e"},"priorRecord":%s}',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_is_refused_wherever_it_is(name: str, place: str) -> None:
    hostile, _ = HOSTILE[name]
    if not hostile and place == "in the body":
        return  # An empty array is none of the hostile ones.

    answer = evaluate_json(PLACES[place].replace(b"%s", hostile))

    assert isinstance(answer, Unverified)
    assert answer.errors
    for problem in answer.errors:
        assert problem.message
        assert len(problem.path) + len(problem.message) < 1000
        assert (problem.path + problem.message).isprintable()


@repeatable(500)
@given(st.binary(max_size=60))
def test_any_bytes_at_all(data: bytes) -> None:
    assert isinstance(evaluate_json(data), Unverified)


def repeated(unit: bytes, size: int = MEBIBYTE) -> bytes:
    return unit * (size // len(unit))


LARGE = {
    "a body of many integers": (b'{"operation":{"endpoint":"e","body":[', b"1,", b"0]}}", Report),
    "a body of many fractions": (
        b'{"operation":{"endpoint":"e","body":[',
        b"1.0,",
        b"0]}}",
        Report,
    ),
    "a body of many emoji": (
        b'{"operation":{"endpoint":"e","body":[',
        '"\U0001f600",'.encode(),
        b"0]}}",
        Report,
    ),
    "a long endpoint": (b'{"operation":{"endpoint":"', b"a:", b'"}}', Report),
    "many repeated members": (b'{"operation":{', b'"endpoint":"e",', b'"body":1}}', Unverified),
    "many numbers that lose digits": (
        b'{"operation":{"endpoint":"e","body":[',
        b"9007199254740993,",
        b"0]}}",
        Unverified,
    ),
    "a long number": (
        b'{"operation":{"endpoint":"e"},"attempts":[{"costUnits":1.',
        b"01",
        b"}]}",
        Unverified,
    ),
    "too many attempts": (
        b'{"operation":{"endpoint":"e"},"attempts":[',
        b"{},",
        b"{}]}",
        Unverified,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_mebibyte_of_anything(name: str) -> None:
    start, unit, end, kind = LARGE[name]

    answer = evaluate_json(start + repeated(unit) + end)

    assert type(answer) is kind
    if isinstance(answer, Unverified):
        assert len(answer.errors) <= 101


@pytest.mark.parametrize(
    "attempt",
    [
        b"{}",
        b'{"outcome":"failure","phase":"pre_write","costUnits":0.1}',
        b'{"outcome":"failure","phase":"pre_write","costUnits":0.10000000000000000001}',
        b'{"costUnits":1e308}',
        b'{"costUnits":0.' + b"1" * 998 + b"}",
        b'{"costUnits":5e-324}',
    ],
)
def test_ten_thousand_attempts(attempt: bytes) -> None:
    attempts = b",".join([attempt] * 10_000)

    answer = evaluate_json(b'{"operation":{"endpoint":"e"},"attempts":[' + attempts + b"]}")

    assert isinstance(answer, Report)
    assert answer.circuit.failure_streak == 10_000
    # Readable by the strictest of readers, whatever the sum.
    assert isinstance(decode(encode(answer)), dict)


def test_nothing_in_the_fuse_does_any_io() -> None:
    forbidden = {"anyio", "click", "io", "os", "pathlib", "psutil", "random", "signal", "socket"}
    forbidden |= {"sqlite3", "subprocess", "sys", "threading", "time", "datetime"}
    sources = sorted(Path(retryproof.fuse.__file__).parent.glob("*.py"))
    assert len(sources) > 5
    for source in sources:
        imported = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(source.read_text()))
            for name in names_imported_by(node)
        }
        assert not imported & forbidden, source.name


def names_imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module or ""]
    return []

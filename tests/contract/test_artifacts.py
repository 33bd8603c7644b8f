"""Artifacts and submissions: what is refused, where, in which words; and the normal form."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from retryproof import app, resources
from retryproof.contract.artifacts import Artifact, Problem, Submission, read_submission
from retryproof_protocol.messages import Operation

from tests.bundle import BUNDLE
from tests.strategies import artifacts, repeatable

STEP = {"at": 0, "key": "A", "value": "A", "delivery": "lost"}
RETRY = {"at": 1, "key": "A", "value": "A", "delivery": "received"}
GOOD: dict[str, Any] = {"target": "forget-on-loss", "steps": [STEP, RETRY]}
ARTIFACT = Artifact(
    "forget-on-loss", (Operation(0, "A", "A", "lost"), Operation(1, "A", "A", "received"))
)
PARENT = "0123456789abcdef" * 4
A_TARGET = "must be one of duplicate-write, body-blind, sliding-expiry, forget-on-loss."
A_TICK = "must be a whole number, 0 to 24."


def read(data: bytes) -> Submission:
    return read_submission(data, BUNDLE.mission)


def read_document(document: Any) -> Submission:
    return read(json.dumps(document).encode())


def with_step(**members: Any) -> dict[str, Any]:
    return {**GOOD, "steps": [STEP, {**RETRY, **members}]}


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in document.items() if other != name}


def steps_at(*ticks: int) -> list[dict[str, Any]]:
    return [{**RETRY, "at": tick} for tick in ticks]


REFUSED: dict[str, tuple[Any, str, str]] = {
    "array": ([], "", "must be an object, is an array."),
    "string": ("x", "", "must be an object, is a string."),
    "number": (1, "", "must be an object, is a number."),
    "null": (None, "", "must be an object, is null."),
    "true": (True, "", "must be an object, is a boolean."),
    "no target": (without(GOOD, "target"), "target", "is missing."),
    "no steps": (without(GOOD, "steps"), "steps", "is missing."),
    "another member": ({**GOOD, "note": 1}, "note", "is not allowed here: only target, steps."),
    "expected results": (
        {**GOOD, "expected": []},
        "expected",
        "is not allowed here: only target, steps.",
    ),
    "a parent outside a wrapper": (
        {**GOOD, "parent": PARENT},
        "parent",
        "is not allowed here: only target, steps.",
    ),
    "unknown target": (
        {**GOOD, "target": "slow"},
        "target",
        f'is the string "slow"; it {A_TARGET}',
    ),
    "target in capitals": (
        {**GOOD, "target": "BODY-BLIND"},
        "target",
        f'is the string "BODY-BLIND"; it {A_TARGET}',
    ),
    "target null": ({**GOOD, "target": None}, "target", f"is null; it {A_TARGET}"),
    "target an array": (
        {**GOOD, "target": ["body-blind"]},
        "target",
        f"is an array; it {A_TARGET}",
    ),
    "steps an object": (
        {**GOOD, "steps": {}},
        "steps",
        "must be an array of operations, is an object.",
    ),
    "steps null": ({**GOOD, "steps": None}, "steps", "must be an array of operations, is null."),
    "no operations": ({**GOOD, "steps": []}, "steps", "has 0 operations; 1 to 12 are allowed."),
    "13 operations": (
        {**GOOD, "steps": steps_at(*range(13))},
        "steps",
        "has 13 operations; 1 to 12 are allowed.",
    ),
    "a step that is an array": (
        {**GOOD, "steps": [STEP, []]},
        "steps[1]",
        "must be an object, is an array.",
    ),
    "a step that is a tick": (
        {**GOOD, "steps": [0]},
        "steps[0]",
        "must be an object, is a number.",
    ),
    "no key": ({**GOOD, "steps": [without(STEP, "key")]}, "steps[0].key", "is missing."),
    "no delivery": (
        {**GOOD, "steps": [STEP, without(RETRY, "delivery")]},
        "steps[1].delivery",
        "is missing.",
    ),
    "another member in a step": (
        with_step(status=201),
        "steps[1].status",
        "is not allowed here: only at, key, value, delivery.",
    ),
    "tick true": (with_step(at=True), "steps[1].at", f"is a boolean; it {A_TICK}"),
    "tick a string": (with_step(at="1"), "steps[1].at", f'is the string "1"; it {A_TICK}'),
    "tick null": (with_step(at=None), "steps[1].at", f"is null; it {A_TICK}"),
    "tick an array": (with_step(at=[1]), "steps[1].at", f"is an array; it {A_TICK}"),
    "tick a fraction": (with_step(at=1.5), "steps[1].at", f"is 1.5; it {A_TICK}"),
    "tick below": (with_step(at=-1), "steps[1].at", "is outside the ticks 0 to 24."),
    "tick above": (with_step(at=25), "steps[1].at", "is outside the ticks 0 to 24."),
    "tick huge": (with_step(at=10**300), "steps[1].at", "is outside the ticks 0 to 24."),
    "tick a huge float": (with_step(at=1e300), "steps[1].at", "is outside the ticks 0 to 24."),
    "tick back": (
        {**GOOD, "steps": steps_at(0, 5, 4)},
        "steps[2].at",
        "goes back from tick 5 to 4.",
    ),
    "key unknown": (
        with_step(key="C"),
        "steps[1].key",
        'is the string "C"; it must be "A" or "B".',
    ),
    "key in small": (
        with_step(key="a"),
        "steps[1].key",
        'is the string "a"; it must be "A" or "B".',
    ),
    "key empty": (with_step(key=""), "steps[1].key", 'is the string ""; it must be "A" or "B".'),
    "value a number": (with_step(value=1), "steps[1].value", 'is a number; it must be "A" or "B".'),
    "value an object": (
        with_step(value={"a": [[]]}),
        "steps[1].value",
        'is an object; it must be "A" or "B".',
    ),
    "delivery unknown": (
        with_step(delivery="delayed"),
        "steps[1].delivery",
        'is the string "delayed"; it must be "received" or "lost".',
    ),
    "delivery false": (
        with_step(delivery=False),
        "steps[1].delivery",
        'is a boolean; it must be "received" or "lost".',
    ),
}


@pytest.mark.parametrize(
    ("document", "path", "message"), [pytest.param(*row, id=name) for name, row in REFUSED.items()]
)
def test_each_refusal_names_the_place_and_says_why(document: Any, path: str, message: str) -> None:
    assert read_document(document) == Submission(None, None, (Problem(path, message),))


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [pytest.param(*row, id=name) for name, row in REFUSED.items() if isinstance(row[0], dict)],
)
def test_inside_a_wrapper_the_place_is_that_in_the_wrapper(
    document: Any, path: str, message: str
) -> None:
    submission = read_document({"artifact": document})

    assert submission == Submission(None, None, (Problem(f"artifact.{path}", message),))


NOT_JSON: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "", "is not JSON"),
    "text": (b"not json", "", "is not JSON"),
    "not UTF-8": (b'{"target":"\xff"}', "", "is not UTF-8 at byte 11."),
    "byte-order mark": (b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), "", "is not JSON"),
    "NaN": (b'{"target":"body-blind","steps":[{"at":NaN}]}', "", "is not JSON"),
    "Infinity": (b'{"target":"body-blind","steps":[{"at":Infinity}]}', "", "is not JSON"),
    "a number out of range": (b'{"steps":[{"at":1e999}]}', "", "is not JSON: number out of range"),
    "trailing data": (json.dumps(GOOD).encode() + b"x", "", "is not JSON: trailing characters"),
    "two artifacts": (json.dumps(GOOD).encode() * 2, "", "is not JSON: trailing characters"),
    "nested deeply": (b"[" * 10**6, "", "is nested too deeply."),
    "repeated target": (
        b'{"target":"body-blind","target":"body-blind","steps":[]}',
        "target",
        "is there twice.",
    ),
    "repeated tick": (
        b'{"target":"body-blind","steps":[{"at":0},{"at":0,"at":1}]}',
        "steps[1].at",
        "is there twice.",
    ),
    "repeated in a wrapper": (
        b'{"artifact":{"steps":[{"key":"A","key":"B"}]}}',
        "artifact.steps[0].key",
        "is there twice.",
    ),
    "repeated artifact": (b'{"artifact":1,"artifact":2}', "artifact", "is there twice."),
}


@pytest.mark.parametrize(
    ("data", "path", "message"), [pytest.param(*row, id=name) for name, row in NOT_JSON.items()]
)
def test_what_is_no_strict_json_is_refused_before_anything_else(
    data: bytes, path: str, message: str
) -> None:
    submission = read(data)

    assert submission.artifact is None
    [problem] = submission.problems
    assert problem.path == path
    assert problem.message.startswith(message)
    assert problem.message.endswith(".")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_in_json_is_called_by_its_name(word: str) -> None:
    [problem] = read(json.dumps(GOOD).replace('"at": 1', f'"at": {word}').encode()).problems

    assert word in problem.message


def test_a_number_out_of_range_is_told_in_words_for_people() -> None:
    [problem] = read(b'{"target":"body-blind","steps":[{"at":1e999}]}').problems

    assert "number out of range" in problem.message
    assert "$" not in problem.message


def test_all_problems_are_told_at_once_in_the_order_of_the_text() -> None:
    submission = read_document(
        {
            "artifact": {
                "target": "none",
                "steps": [
                    {"at": 9, "key": "C"},
                    {**RETRY, "at": "x", "more": 1},
                    {**STEP, "at": 3},
                ],
            },
            "parent": 1,
            "author": "me",
        }
    )

    assert submission.artifact is None
    assert [problem.path for problem in submission.problems] == [
        "author",
        "parent",
        "artifact.target",
        "artifact.steps[0].value",
        "artifact.steps[0].delivery",
        "artifact.steps[1].more",
        "artifact.steps[1].at",
    ]


def test_ticks_are_compared_with_the_latest_before_them() -> None:
    submission = read_document({**GOOD, "steps": steps_at(7, 3, 5, 7, 6)})

    assert [(problem.path, problem.message) for problem in submission.problems] == [
        ("steps[1].at", "goes back from tick 7 to 3."),
        ("steps[2].at", "goes back from tick 7 to 5."),
        ("steps[4].at", "goes back from tick 7 to 6."),
    ]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({**GOOD, "\x1b[2J": 1}, id="member"),
        pytest.param({**GOOD, "target": "\x1b]0;x\x07"}, id="target"),
        pytest.param(with_step(**{"\u202e": 1}), id="member of a step"),
        pytest.param(with_step(key="\x9b\x00"), id="key"),
        pytest.param({"artifact": GOOD, "\r": 1}, id="member of a wrapper"),
        pytest.param({**GOOD, "x" * 10_000: 1}, id="long member"),
        pytest.param({**GOOD, "target": "x" * 10_000}, id="long target"),
    ],
)
def test_what_was_submitted_is_shown_safely_and_in_part(document: Any) -> None:
    submission = read_document(document)

    assert submission.problems
    for problem in submission.problems:
        assert (problem.path + problem.message).isprintable()
        assert len(problem.path + problem.message) < 250


@pytest.mark.parametrize(
    "name", ["\\u001b[2J", "\\u202e", "x" * 10_000], ids=["control", "bidirectional", "long"]
)
def test_a_repeated_member_is_shown_safely_and_in_part(name: str) -> None:
    [problem] = read(f'{{"{name}":1,"{name}":2}}'.encode()).problems

    assert (problem.path + problem.message).isprintable()
    assert len(problem.path) < 250


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "10E-1", "0.1e1"])
def test_a_number_with_an_integral_value_is_a_tick(number: str) -> None:
    text = json.dumps(GOOD).replace('"at": 1', f'"at": {number}')

    assert read(text.encode()) == Submission(ARTIFACT, None, ())


@pytest.mark.parametrize("tick", ["-0", "-0.0", "0e5", "24", "24.0", "2.4e1"])
def test_the_first_tick_may_be_any_from_zero_to_the_last(tick: str) -> None:
    data = f'{{"target":"body-blind","steps":[{json.dumps(STEP)}]}}'.replace(
        '"at": 0', f'"at": {tick}'
    )

    artifact = read(data.encode()).artifact

    assert artifact is not None
    assert artifact.steps[0].at == int(float(tick))
    assert b'"at":-' not in artifact.normalized()


def test_the_normal_form_is_compact_in_the_order_of_the_specification() -> None:
    shuffled = (
        b' { "steps" : [ {"delivery":"lost","value":"A","key":"A","at":0.0} , \n'
        b'{"key":"A","at":1,"delivery":"received","value":"A"} ],\t"target":"forget-on-loss"}\r\n'
    )

    artifact = read(shuffled).artifact

    assert artifact == ARTIFACT
    assert artifact.normalized() == (
        b'{"target":"forget-on-loss","steps":['
        b'{"at":0,"key":"A","value":"A","delivery":"lost"},'
        b'{"at":1,"key":"A","value":"A","delivery":"received"}]}'
    )
    assert artifact.digest() == "sha256:" + hashlib.sha256(artifact.normalized()).hexdigest()


@repeatable(150)
@given(artifacts())
def test_the_normal_form_reads_back_as_the_same_artifact(artifact: Artifact) -> None:
    submission = read(artifact.normalized())

    assert submission == Submission(artifact, None, ())
    assert submission.artifact is not None
    assert submission.artifact.normalized() == artifact.normalized()


@repeatable(100)
@given(artifacts(), artifacts())
def test_two_artifacts_have_one_digest_only_if_they_are_equal(
    first: Artifact, second: Artifact
) -> None:
    assert (first.digest() == second.digest()) is (first == second)


def test_the_authored_fixture_is_a_valid_artifact() -> None:
    artifact = read(resources.read_bytes(app.SEED_FILE)).artifact

    assert artifact is not None
    assert artifact.target == "forget-on-loss"
    assert len(artifact.steps) == 5


@pytest.mark.parametrize(
    ("parent", "accepted"),
    [
        pytest.param(PARENT, True, id="64 hex digits"),
        pytest.param(f"sha256:{PARENT}", True, id="with the name of the hash"),
        pytest.param(PARENT.upper(), False, id="capitals"),
        pytest.param(PARENT[1:], False, id="63 digits"),
        pytest.param(PARENT + "0", False, id="65 digits"),
        pytest.param(PARENT + "\n", False, id="line end"),
        pytest.param("g" * 64, False, id="no hex"),
        pytest.param("", False, id="empty"),
        pytest.param(None, False, id="null"),
        pytest.param(0, False, id="number"),
        pytest.param([PARENT], False, id="array"),
    ],
)
def test_the_parent_in_a_wrapper_is_a_receipt_hash(parent: Any, accepted: bool) -> None:
    submission = read_document({"artifact": GOOD, "parent": parent})

    if accepted:
        assert submission == Submission(ARTIFACT, parent, ())
    else:
        problem = Problem("parent", "must be a receipt hash: 64 hex digits in lower case.")
        assert submission == Submission(None, None, (problem,))


def test_a_wrapper_holds_an_artifact_and_nothing_but_a_parent_besides() -> None:
    assert read_document({"artifact": GOOD}) == Submission(ARTIFACT, None, ())
    problem = Problem("author", "is not allowed here: only artifact, parent.")
    assert read_document({"artifact": GOOD, "author": "x"}).problems == (problem,)


def test_a_wrapper_in_a_wrapper_is_refused() -> None:
    paths = [problem.path for problem in read_document({"artifact": {"artifact": GOOD}}).problems]

    assert paths == ["artifact.artifact", "artifact.target", "artifact.steps"]


@pytest.mark.parametrize("padding", [b" ", b"\n", b"\t"], ids=["spaces", "line ends", "tabs"])
@pytest.mark.parametrize("where", ["before", "within", "behind"])
def test_a_wrapper_is_measured_as_it_was_sent_to_the_byte(where: str, padding: bytes) -> None:
    def padded_to(size: int) -> bytes:
        head, tail = b'{"artifact":' + json.dumps(GOOD).encode(), b"}"
        space = padding * (size - len(head + tail))
        parts = {
            "before": (space, head, tail),
            "within": (head, space, tail),
            "behind": (head, tail, space),
        }
        return b"".join(parts[where])

    assert read(padded_to(4096)) == Submission(ARTIFACT, None, ())
    problem = Problem("", "is 4,097 bytes; a submission has at most 4,096.")
    assert read(padded_to(4097)) == Submission(None, None, (problem,))


def test_a_bare_artifact_is_measured_in_normal_form() -> None:
    data = json.dumps(GOOD).encode() + b" " * 5000

    assert read(data) == Submission(ARTIFACT, None, ())


def test_the_limit_of_the_normal_form_is_exact() -> None:
    size = len(ARTIFACT.normalized())

    def read_with_limit(limit: int) -> Submission:
        mission = msgspec.structs.replace(BUNDLE.mission, max_artifact_bytes=limit)
        return read_submission(json.dumps(GOOD, indent=8).encode(), mission)

    assert read_with_limit(size) == Submission(ARTIFACT, None, ())
    problem = Problem("", f"is {size} bytes in normal form; the limit is {size - 1}.")
    assert read_with_limit(size - 1) == Submission(None, None, (problem,))


def test_the_largest_artifact_is_within_the_limits() -> None:
    steps = tuple(Operation(24, "A", "A", "received") for _ in range(12))
    largest = Artifact("duplicate-write", steps)

    assert len(largest.normalized()) < BUNDLE.mission.max_artifact_bytes == 3072
    assert read(largest.normalized()) == Submission(largest, None, ())
    assert BUNDLE.mission.max_submission_bytes == 4096

"""`check`, `reduce`, `compare`, `example` and `fixtures`, as a user calls them."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from retryproof import app, resources
from retryproof.cli.inputs import MAX_INPUT_BYTES
from retryproof.cli.main import run_command_line
from retryproof.contract.bundle import digest_of

from tests.bundle import BUNDLE
from tests.cli.command import RETRYPROOF, retryproof

SEED = resources.path_of(app.SEED_FILE)
CREATE = {"at": 0, "key": "A", "value": "A", "delivery": "lost"}
RETRY = {"at": 1, "key": "A", "value": "A", "delivery": "received"}
MINIMAL = {"target": "forget-on-loss", "steps": [CREATE, RETRY]}
AGREEING = {"target": "forget-on-loss", "steps": [CREATE]}
REFUSED = {"target": "forget-on-loss", "steps": [], "note": 1}
NOT_COVERED = (
    "Not covered: concurrent requests, process crashes, persistence across restarts, "
    "clock skew, exactly-once delivery."
)


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; nothing else may stand there, or on stderr."""
        assert self.err == ""
        document: dict[str, Any] = json.loads(self.out)
        return document


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """Nearly all of this happens in the test's own process, and quickly: no search for leaks."""


Call = Callable[..., Ended]
Write = Callable[..., str]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command in this process; `stdin` is what it can read there."""

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            run_command_line(arguments)
        sys.stdin.close()
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file, as JSON unless it is bytes, and gives its name."""

    def write_file(content: Any, name: str = "artifact.json") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    return write_file


OUTCOMES = [
    pytest.param(MINIMAL, 0, id="accepted"),
    pytest.param({"artifact": MINIMAL, "parent": "0" * 64}, 0, id="an accepted submission"),
    pytest.param(AGREEING, 1, id="not accepted"),
    pytest.param(REFUSED, 1, id="refused"),
    pytest.param(b"not json", 1, id="no JSON"),
    pytest.param(b"", 1, id="empty"),
]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", [("check",), ("reduce",), ("reduce", "--all")], ids=" ".join)
@pytest.mark.parametrize(("content", "status"), OUTCOMES)
def test_only_an_accepted_artifact_ends_with_status_0(
    call: Call,
    write: Write,
    command: tuple[str, ...],
    options: tuple[str, ...],
    content: Any,
    status: int,
) -> None:
    ended = call(*command, *options, write(content))

    assert ended.status == status
    assert ended.err == ""
    assert ended.out


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    ("parent", "candidate", "status"),
    [
        pytest.param({**MINIMAL, "steps": [CREATE, RETRY, RETRY]}, MINIMAL, 0, id="a reduction"),
        pytest.param(MINIMAL, MINIMAL, 1, id="the same"),
        pytest.param(MINIMAL, {**MINIMAL, "target": "body-blind"}, 1, id="another target"),
        pytest.param(REFUSED, MINIMAL, 1, id="a refused parent"),
        pytest.param(MINIMAL, b"", 1, id="a refused candidate"),
    ],
)
def test_only_a_strict_ordered_reduction_ends_with_status_0(
    call: Call,
    write: Write,
    options: tuple[str, ...],
    parent: Any,
    candidate: Any,
    status: int,
) -> None:
    ended = call("compare", *options, write(parent, "parent"), write(candidate, "candidate"))

    assert ended.status == status
    assert ended.err == ""


CHECK_MEMBERS = {
    *("schema", "evidence", "valid", "accepted", "errors", "artifact", "normalizedBytes"),
    *("digest", "firstDifference", "steps", "reductions", "deletionMinimal"),
    # Besides those of the specification: what every report says, and what a wrapper holds.
    *("notCovered", "parent"),
}
REDUCE_MEMBERS = {
    *("schema", "evidence", "valid", "accepted", "errors", "artifact"),
    *("reductions", "deletionMinimal", "notCovered"),
}
COMPARE_MEMBERS = {
    *("schema", "evidence", "strictOrderedReduction", "reason"),
    *("notCovered", "errors"),
}


@pytest.mark.parametrize(("content", "status"), OUTCOMES)
def test_check_as_json_has_its_members_whatever_the_outcome(
    call: Call, write: Write, content: Any, status: int
) -> None:
    document = call("check", "--json", write(content)).document()

    assert set(document) == CHECK_MEMBERS
    assert document["schema"] == "retryproof.check/1"
    assert document["evidence"] == "reference-comparison"
    assert document["notCovered"] == list(BUNDLE.not_covered)
    assert document["accepted"] is (status == 0)


def test_check_as_json_of_an_accepted_artifact(call: Call, write: Write) -> None:
    document = call("check", "--json", write({"artifact": MINIMAL, "parent": "f" * 64})).document()

    assert document["valid"] is True
    assert document["errors"] == []
    assert document["artifact"] == MINIMAL
    assert document["parent"] == "f" * 64
    assert document["normalizedBytes"] == len(json.dumps(MINIMAL, separators=(",", ":")))
    assert document["digest"].startswith("sha256:")
    assert document["firstDifference"] == 1
    assert document["steps"] == [
        {
            "operation": CREATE,
            "reference": {"status": None, "receipt": None, "committedWrites": 1},
            "fault": {"status": None, "receipt": None, "committedWrites": 1},
            "differences": [],
        },
        {
            "operation": RETRY,
            "reference": {"status": 200, "receipt": 1, "committedWrites": 1},
            "fault": {"status": 201, "receipt": 2, "committedWrites": 2},
            "differences": ["status", "receipt", "committedWrites"],
        },
    ]
    assert document["reductions"] == []
    assert document["deletionMinimal"] is True


def test_check_as_json_of_a_refused_artifact(call: Call, write: Write) -> None:
    document = call("check", "--json", write(REFUSED)).document()

    assert document["errors"] == [
        {"path": "note", "message": "is not allowed here: only target, steps."},
        {"path": "steps", "message": "has 0 operations; 1 to 12 are allowed."},
    ]
    assert document["steps"] == document["reductions"] == []
    for name in ("artifact", "normalizedBytes", "digest", "firstDifference", "deletionMinimal"):
        assert document[name] is None


@pytest.mark.parametrize("follow_all", [False, True])
@pytest.mark.parametrize(("content", "status"), OUTCOMES)
def test_reduce_as_json_has_the_minimal_artifacts_only_with_all(
    call: Call, write: Write, content: Any, status: int, follow_all: bool
) -> None:
    options = ("--json", "--all") if follow_all else ("--json",)

    document = call("reduce", *options, write(content)).document()

    assert set(document) == REDUCE_MEMBERS | ({"minimal"} if follow_all else set())
    assert document["schema"] == "retryproof.reduce/1"
    assert document["accepted"] is (status == 0)


def test_reduce_as_json_gives_each_reduction_whole(call: Call) -> None:
    document = call("reduce", "--all", "--json", str(SEED)).document()

    seed = json.loads(SEED.read_bytes())
    assert document["artifact"] == seed
    assert document["deletionMinimal"] is False
    assert [reduction["removed"] for reduction in document["reductions"]] == [0, 2, 4]
    for reduction in document["reductions"]:
        steps = [s for i, s in enumerate(seed["steps"]) if i != reduction["removed"]]
        assert reduction == {
            "removed": reduction["removed"],
            "artifact": {"target": seed["target"], "steps": steps},
        }
    minimal = {"target": "forget-on-loss", "steps": [seed["steps"][1], seed["steps"][3]]}
    assert document["minimal"] == [minimal]


def test_compare_as_json_says_yes_or_no_and_why(call: Call, write: Write) -> None:
    candidate = write(AGREEING)

    document = call("compare", "--json", write(MINIMAL, "parent.json"), candidate).document()

    assert set(document) == COMPARE_MEMBERS
    assert document["schema"] == "retryproof.compare/1"
    assert document["strictOrderedReduction"] is True
    assert document["reason"] == "The candidate is the parent without 1 operation."
    assert document["errors"] == {"parent": [], "candidate": []}


def test_compare_as_json_has_the_problems_of_each_file(call: Call, write: Write) -> None:
    document = call("compare", "--json", write(REFUSED, "a"), write(b"", "b")).document()

    assert set(document) == COMPARE_MEMBERS
    assert document["strictOrderedReduction"] is False
    assert [problem["path"] for problem in document["errors"]["parent"]] == ["note", "steps"]
    assert [problem["path"] for problem in document["errors"]["candidate"]] == [""]


@pytest.mark.parametrize(
    ("command", "content", "first_line"),
    [
        pytest.param("check", MINIMAL, "ACCEPTED: the named fault differs", id="accepted"),
        pytest.param("check", AGREEING, "NOT ACCEPTED: the named fault and the", id="agreeing"),
        pytest.param("check", REFUSED, "REFUSED: not a valid artifact", id="refused"),
        pytest.param("reduce", MINIMAL, "ACCEPTED: the named fault differs", id="reduce"),
        pytest.param("reduce", REFUSED, "REFUSED: not a valid artifact", id="reduce refused"),
    ],
)
def test_the_text_begins_with_the_verdict_the_evidence_and_its_limits(
    call: Call, write: Write, command: str, content: Any, first_line: str
) -> None:
    lines = call(command, write(content)).out.splitlines()

    assert lines[0].startswith(first_line)
    assert lines[1].startswith("Evidence: reference-comparison: ")
    assert lines[2] == NOT_COVERED


def test_the_text_of_check_has_both_traces_and_what_can_be_left_out(call: Call) -> None:
    text = call("check", str(SEED)).out

    assert "Target: forget-on-loss; " in text
    assert "Digest: sha256:" in text
    assert "First difference at steps[3]." in text
    assert "any one of the steps 0, 2, 4" in text
    assert "200, receipt 2; 2 writes" in text
    assert "201, receipt 3; 3 writes" in text


def test_the_text_of_a_refusal_has_a_line_for_each_problem(call: Call, write: Write) -> None:
    lines = call("check", write(REFUSED)).out.splitlines()

    assert lines[3:] == [
        "  note is not allowed here: only target, steps.",
        "  steps has 0 operations; 1 to 12 are allowed.",
    ]


def test_each_reduction_in_the_text_can_be_checked_again(call: Call, write: Write) -> None:
    lines = call("reduce", "--all", str(SEED)).out.splitlines()

    artifacts = [line.partition(": ")[2] for line in lines if '"target"' in line]
    assert len(artifacts) == 3 + 1
    for artifact in artifacts:
        assert call("check", write(artifact.encode())).status == 0
        assert call("compare", str(SEED), write(artifact.encode())).status == 0


@pytest.mark.parametrize(
    ("candidate", "answer"),
    [
        pytest.param(AGREEING, "Yes: a strict ordered reduction.", id="yes"),
        pytest.param(MINIMAL, "No: not a strict ordered reduction.", id="no"),
    ],
)
def test_the_text_of_compare_begins_with_the_answer_and_has_the_evidence(
    call: Call, write: Write, candidate: Any, answer: str
) -> None:
    lines = call("compare", write(MINIMAL, "a"), write(candidate, "b")).out.splitlines()

    assert lines[0] == answer
    assert lines[2].startswith("Evidence: reference-comparison: ")
    assert lines[3] == NOT_COVERED


def test_example_prints_the_authored_fixture_to_the_byte_and_it_is_accepted(call: Call) -> None:
    ended = call("example")

    assert (ended.status, ended.err) == (0, "")
    assert ended.out.encode() == SEED.read_bytes()
    assert call("check", "-", stdin=ended.out.encode()).status == 0
    assert call("reduce", "-", stdin=ended.out.encode()).status == 0


def test_fixtures_prints_the_contract_to_the_byte(call: Call) -> None:
    ended = call("fixtures")

    assert (ended.status, ended.err) == (0, "")
    assert ended.out.encode() == resources.read_bytes(app.CONTRACT_FILE)
    document = json.loads(ended.out)
    assert document["digest"] == digest_of(document)


@pytest.mark.parametrize("command", ["check", "reduce"])
def test_a_dash_is_standard_input(call: Call, command: str) -> None:
    data = json.dumps(MINIMAL).encode()

    from_file = call(command, "--json", "-", stdin=data)

    assert from_file.status == 0
    assert from_file.document()["artifact"] == MINIMAL


@pytest.mark.parametrize("dash_first", [True, False])
def test_one_of_two_files_may_be_standard_input(call: Call, write: Write, dash_first: bool) -> None:
    parent, candidate = json.dumps(MINIMAL).encode(), json.dumps(AGREEING).encode()

    if dash_first:
        ended = call("compare", "-", write(candidate), stdin=parent)
    else:
        ended = call("compare", write(parent), "-", stdin=candidate)

    assert ended.status == 0


def test_standard_input_cannot_be_both_files(call: Call) -> None:
    ended = call("compare", "-", "-", stdin=json.dumps(MINIMAL).encode())

    assert (ended.status, ended.out) == (2, "")


COMMANDS_WITH_A_FILE = [("check",), ("reduce",), ("compare", str(SEED))]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS_WITH_A_FILE, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("missing.json", "No such file or directory", id="missing"),
        pytest.param(".", "Is a directory", id="a directory"),
        pytest.param("file/below.json", "Not a directory", id="below a file"),
        pytest.param("n" * 300, "File name too long", id="a name too long"),
    ],
)
def test_an_unreadable_file_ends_with_status_2_and_a_word_on_stderr(
    call: Call,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    options: tuple[str, ...],
    name: str,
    reason: str,
) -> None:
    write(b"", "file")
    monkeypatch.chdir(tmp_path)

    ended = call(*command, *options, name)

    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"retryproof: {name} can't be read: {reason}.\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_must_not_be_read_ends_with_status_2(call: Call, write: Write) -> None:
    name = write(MINIMAL)
    Path(name).chmod(0)

    assert call("check", name).status == 2


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_the_limit_of_a_file_is_exact(call: Call, write: Write, source: str) -> None:
    def checked(data: bytes) -> Ended:
        if source == "stdin":
            return call("check", "-", stdin=data)
        return call("check", write(data))

    full = json.dumps(MINIMAL).encode().ljust(MAX_INPUT_BYTES)

    assert checked(full).status == 0
    ended = checked(full + b" ")
    assert (ended.status, ended.out) == (2, "")
    assert "is larger than 1,048,576 bytes." in ended.err


def test_an_endless_file_is_refused_without_being_read_whole(call: Call) -> None:
    assert call("check", "/dev/zero").status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="no command"),
        pytest.param(("verify",), id="an unknown command"),
        pytest.param(("check",), id="no file"),
        pytest.param(("check", "a", "b"), id="two files"),
        pytest.param(("check", "--all", "a"), id="an option of another command"),
        pytest.param(("reduce", "--json"), id="only an option"),
        pytest.param(("compare", str(SEED)), id="only a parent"),
        pytest.param(("example", "more"), id="an argument too many"),
        pytest.param(("fixtures", "--json"), id="an unknown option"),
    ],
)
def test_invalid_arguments_end_with_status_2_and_a_usage_on_stderr(
    call: Call, arguments: tuple[str, ...]
) -> None:
    ended = call(*arguments)

    assert (ended.status, ended.out) == (2, "")
    assert "Usage: retryproof" in ended.err


@pytest.mark.parametrize("command", ["check", "reduce"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"\\u001b[2J\\u202e":1}', id="a member"),
        pytest.param(b'{"\\u001b[2J":1,"\\u001b[2J":1}', id="a repeated member"),
        pytest.param(b'{"target":"\\u001b]0;x\\u0007","steps":[]}', id="a target"),
        pytest.param(b"\x1b[2J", id="raw bytes"),
    ],
)
def test_control_characters_of_a_file_never_reach_the_terminal_raw(
    call: Call, write: Write, command: str, content: bytes
) -> None:
    ended = call(command, write(content))

    assert ended.status == 1
    assert all(line.isprintable() for line in ended.out.splitlines())


def test_control_characters_of_a_files_name_never_reach_the_terminal_raw(call: Call) -> None:
    ended = call("check", "\u202e\x07.json")

    assert ended.status == 2
    assert ended.err.rstrip("\n").isprintable()


def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    (tmp_path / "artifact").write_bytes('{"target":"\N{SNOWMAN}","steps":[]}'.encode())

    ended = retryproof("check", "artifact", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})

    assert ended.returncode == 1
    assert 'is the string "\\u2603"' in ended.stdout


def run_in_shell(
    redirection: str, *arguments: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Runs a command with its input or output redirected as the shell says."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *RETRYPROOF, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TMPDIR": str(folder)},
    )


def test_a_closed_standard_input_is_an_unreadable_file(tmp_path: Path) -> None:
    ended = run_in_shell("<&-", "check", "-", folder=tmp_path)

    assert ended.returncode == 2
    assert "can't be read" in ended.stderr


NO_FULL_DEVICE = not Path("/dev/full").exists()


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(("example",), id="example"), pytest.param(("check", str(SEED)), id="check")],
)
@pytest.mark.parametrize(
    "redirection",
    [
        pytest.param(">&-", id="closed"),
        pytest.param(
            ">/dev/full",
            id="full",
            marks=pytest.mark.skipif(NO_FULL_DEVICE, reason="no /dev/full here"),
        ),
    ],
)
def test_an_output_that_cannot_be_written_is_no_bug_of_ours(
    redirection: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    ended = run_in_shell(redirection, *arguments, folder=tmp_path)

    assert ended.returncode in {1, 2}
    assert "bug" not in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("fixtures",), id="fixtures"),
        pytest.param(("check", str(SEED)), id="text"),
        pytest.param(("reduce", "--all", "--json", str(SEED)), id="json"),
    ],
)
def test_a_reader_that_goes_away_early_gets_no_complaint(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [*RETRYPROOF, *arguments],
            check=False,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    finally:
        os.close(writer)

    assert ended.returncode == 1
    assert ended.stderr == b""

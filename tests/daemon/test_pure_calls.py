"""check, reduce, compare, fuse: over HTTP they say what the commands print."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from retryproof import app, resources
from retryproof.cli.main import run_command_line
from retryproof.contract.model import FAULTS
from retryproof.fuse.matrix import CaseFile

from tests.bundle import BUNDLE
from tests.cli.command import retryproof
from tests.daemon.described import DescribedDaemon
from tests.daemon.sharing import daemon, quiet_afterwards

__all__ = ["daemon", "quiet_afterwards"]

SEED = resources.read_bytes(app.SEED_FILE)
LOST = {"at": 0, "key": "A", "value": "A", "delivery": "lost"}
RETRY = {"at": 1, "key": "A", "value": "A", "delivery": "received"}
OTHER = {"at": 1, "key": "B", "value": "A", "delivery": "received"}
MINIMAL = {"target": "forget-on-loss", "steps": [LOST, RETRY]}
LONGER = {"target": "forget-on-loss", "steps": [LOST, OTHER, RETRY]}
HASH = "a" * 64


def encoded(*documents: Any) -> list[bytes]:
    return [json.dumps(document).encode() for document in documents]


ARTIFACTS: list[bytes] = [
    SEED,
    *encoded(
        MINIMAL,
        LONGER,
        {"artifact": LONGER},
        {"artifact": LONGER, "parent": HASH},
        *({"target": fault, "steps": [LOST, OTHER, RETRY]} for fault in FAULTS),
        # Bad ones.
        {"artifact": LONGER, "parent": "none"},
        {"artifact": LONGER, "more": 1},
        {"target": "none", "steps": [LOST]},
        {"target": "body-blind", "steps": []},
        {"target": "body-blind", "steps": [LOST] * 13},
        {"target": "body-blind", "steps": [{**LOST, "at": 25}, {**LOST, "key": "C"}]},
        {"target": "body-blind", "steps": [RETRY, LOST]},
        {"artifact": {**LONGER, "note": "x" * 5000}},
        [],
        None,
    ),
    b'{"target": "body-blind", "steps": [{"at": 1e400}]}',
    b"",
    b"{",
    b'{"target": "body-blind", "target": "body-blind", "steps": []}',
    b'\xff{"target"',
    b"[" * 200_000,
    b"1" * 5000,
]


def printed(folder: Path, command: str, *inputs: bytes, options: tuple[str, ...] = ()) -> Any:
    """What the command prints with --json of files with this content."""
    files = [folder / f"{number}.json" for number in range(len(inputs))]
    for file, content in zip(files, inputs, strict=True):
        file.write_bytes(content)
    finished = retryproof(command, "--json", *options, *map(str, files))
    assert finished.stderr == ""
    return json.loads(finished.stdout)


def posted(daemon: DescribedDaemon, path: str, body: bytes) -> Any:
    answer = daemon.client.post(path, content=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def in_process(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command prints on stdout, run in this process: there are many of them."""
    with pytest.raises(SystemExit):
        run_command_line(arguments)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/v1/check", ("check", "--json")),
        ("/v1/reduce", ("reduce", "--json")),
        ("/v1/reduce?all=false", ("reduce", "--json")),
        ("/v1/reduce?all=true", ("reduce", "--all", "--json")),
    ],
)
def test_an_artifact_is_judged_as_by_the_command(
    daemon: DescribedDaemon,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    path: str,
    arguments: tuple[str, ...],
) -> None:
    file = tmp_path / "artifact.json"
    for artifact in ARTIFACTS:
        file.write_bytes(artifact)
        expected = in_process(capsys, *arguments, str(file))
        assert posted(daemon, path, artifact) == expected, artifact[:100]


def test_real_commands_print_the_same(daemon: DescribedDaemon, tmp_path: Path) -> None:
    (longer, minimal) = encoded(LONGER, MINIMAL)
    assert posted(daemon, "/v1/check", SEED) == printed(tmp_path, "check", SEED)
    answer = posted(daemon, "/v1/reduce?all=true", SEED)
    assert answer == printed(tmp_path, "reduce", SEED, options=("--all",))
    answer = posted(daemon, "/v1/compare", pair(longer, minimal))
    assert answer == printed(tmp_path, "compare", longer, minimal)
    assert answer["strictOrderedReduction"] is True


def pair(parent: bytes, candidate: bytes) -> bytes:
    return b'{"candidate": %b, "parent": %b}' % (candidate, parent)


def test_two_artifacts_are_compared_as_by_the_command(
    daemon: DescribedDaemon, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # What is no JSON can't be in the body: see below.
    artifacts = [artifact.strip() for artifact in ARTIFACTS if is_strict_json(artifact)]
    assert len(artifacts) > 15
    pairs = [(SEED.strip(), other) for other in artifacts]
    pairs += [(other, artifacts[1]) for other in artifacts]
    first, second = tmp_path / "parent.json", tmp_path / "candidate.json"
    for parent, candidate in pairs:
        first.write_bytes(parent)
        second.write_bytes(candidate)
        expected = in_process(capsys, "compare", "--json", str(first), str(second))
        answer = posted(daemon, "/v1/compare", pair(parent, candidate))
        assert answer == expected, (parent[:100], candidate[:100])


def is_strict_json(data: bytes) -> bool:
    try:
        pairs: list[list[tuple[str, Any]]] = []
        value = json.loads(data, object_pairs_hook=pairs.append)
    except (ValueError, RecursionError):
        return False
    has_huge_number = isinstance(value, int) or b"1e400" in data
    return not has_huge_number and all(len(dict(one)) == len(one) for one in pairs)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", ""),
        (b"{}", ""),
        (b"[]", ""),
        (b'{"parent": {}}', ""),
        (b'{"parent": {}, "candidate": {}, "more": {}}', ""),
        (b'{"parent": {}, "parent": {}, "candidate": {}}', "parent"),
        (b'{"parent": {"a": 1, "a": 1}, "candidate": {}}', "parent.a"),
        (b'{"parent": 1e400, "candidate": {}}', ""),
    ],
)
def test_what_is_not_two_artifacts_is_refused(
    daemon: DescribedDaemon, body: bytes, path: str
) -> None:
    answer = daemon.client.post("/v1/compare", content=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["path"]) == (400, "bad-body", path)


def test_every_case_of_the_matrix_is_decided_as_by_retryfuse(
    daemon: DescribedDaemon, tmp_path: Path
) -> None:
    files = sorted(resources.path_of(app.MATRIX_FOLDER).glob("*/*.json"))
    inputs = [case_input(file) for file in files]
    lines = [data for data in inputs if b"\n" not in data and b"\r" not in data and data]
    assert len(lines) > 300
    (tmp_path / "inputs.jsonl").write_bytes(b"\n".join(lines))
    answers = retryproof("fuse", "--jsonl", str(tmp_path / "inputs.jsonl")).stdout.splitlines()
    for line, expected in zip(lines, answers, strict=True):
        answer = daemon.client.post("/v1/fuse", content=line)
        assert (answer.status_code, answer.text) == (200, expected), line[:200]


def case_input(file: Path) -> bytes:
    return msgspec.json.decode(file.read_bytes(), type=CaseFile).data


def test_the_largest_body_is_read(daemon: DescribedDaemon) -> None:
    body = json.dumps(MINIMAL).encode().ljust(1024 * 1024)
    assert posted(daemon, "/v1/check", body)["accepted"] is True
    assert posted(daemon, "/v1/fuse", body)["status"] == "unverified"


@pytest.mark.parametrize("path", ["/v1/check", "/v1/reduce", "/v1/compare", "/v1/fuse"])
def test_a_body_over_the_limit_is_refused(daemon: DescribedDaemon, path: str) -> None:
    answer = daemon.client.post(path, content=b" " * (1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body-too-large")
    assert daemon.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("query", ["all=perhaps", "none=1", "all=true&all=true"])
def test_reduce_has_no_other_query(daemon: DescribedDaemon, query: str) -> None:
    answer = daemon.client.post(f"/v1/reduce?{query}", content=SEED)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad-query")


def test_every_fault_of_the_contract_is_told_from_the_reference(daemon: DescribedDaemon) -> None:
    contract = daemon.client.get("/v1/contract").json()
    for case in contract["cases"]:
        for fault in contract["faults"]:
            artifact = {"target": fault["name"], "steps": case["steps"]}
            answer = posted(daemon, "/v1/check", json.dumps(artifact).encode())
            assert answer["accepted"] == (case["name"] in fault["caughtBy"])
            assert answer["evidence"] == "reference-comparison"
            assert answer["notCovered"] == list(BUNDLE.not_covered)

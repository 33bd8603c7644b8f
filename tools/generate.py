"""Makes the files that follow from others, or with --check says which are out of date.

    python tools/generate.py [--check]

`protocol/spec/schema/*.json` from the message types, `protocol/spec/transcripts/*.jsonl` from
the contract's models, in `fixtures/contract.json` the digest and which case catches which
fault, and in `adapters/*/template` the adapter and the README from the kit's own README.
"""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from retryproof.app import fuse_matrix
from retryproof.contract.bundle import Bundle, digest_of, load_bundle
from retryproof.contract.model import FAULTS, REFERENCE, Model, faulty
from retryproof.fuse import Answer, Report, evaluate_json
from retryproof.fuse.matrix import CONTRACT as FUSE_CONTRACT
from retryproof.fuse.matrix import Matrix
from retryproof.kits.catalogue import Kit, kits
from retryproof.kits.project import adapter_argument
from retryproof_protocol import messages
from retryproof_protocol.connection import Connection

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "fixtures/contract.json"
SCHEMAS = {
    "initialize.params": messages.InitializeParams,
    "initialize.result": messages.InitializeResult,
    "step.params": messages.Operation,
    "step.result": messages.Observation,
    "evaluate.result": messages.Evaluation,
    "request": messages.Request,
    "result-response": messages.ResultResponse,
    "error-response": messages.ErrorResponse,
}
WIDTH = 100
LONGEST_INPUT_BYTES = 1024
REFUSED = -32602
"""JSON-RPC's "invalid params"; any other code would do."""


def generated() -> Iterator[tuple[Path, str]]:
    """Each generated file and what it must hold."""
    contract = _complete_contract()
    yield CONTRACT, contract
    for name, message in SCHEMAS.items():
        yield ROOT / f"protocol/spec/schema/{name}.json", _schema(name, message)
    bundle = load_bundle(contract.encode())
    models = {"correct": REFERENCE} | {fault: faulty(fault) for fault in FAULTS}
    for name, model in models.items():
        yield ROOT / f"protocol/spec/transcripts/{name}.jsonl", _transcript(bundle, model)
    yield ROOT / "protocol/spec/transcripts/retryfuse.jsonl", _fuse_transcript()
    for kit in kits():
        yield from _project_template(kit)


def main() -> int:
    """Writes what has changed; with --check only tells, by status 1."""
    outdated = [
        (path, text) for path, text in generated() if not path.exists() or path.read_text() != text
    ]
    for path, text in outdated:
        if "--check" in sys.argv:
            print(f"out of date: {path.relative_to(ROOT)} (make generate)")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if outdated and "--check" in sys.argv else 0


def _complete_contract() -> str:
    document = json.loads(CONTRACT.read_text())
    bundle = load_bundle(CONTRACT.read_bytes())
    for fault in document["faults"]:
        model = faulty(fault["name"])
        fault["caughtBy"] = [c.name for c in bundle.cases if model.trace(c.steps) != c.expected]
    document["digest"] = digest_of(document)
    return _layout(document) + "\n"


def _schema(name: str, message: Any) -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"retryproof adapter protocol {messages.PROTOCOL_VERSION}: {name}",
        **msgspec.json.schema(message),
    }
    return json.dumps(schema, indent=2) + "\n"


def _fuse_transcript() -> str:
    """The matrix, but for the cases that are too long to read, as the reference answers it."""
    return "".join(f"{line}\n" for line in _fuse_conversation(fuse_matrix()))


def _fuse_conversation(matrix: Matrix) -> Iterator[str]:
    """To the letter: a reader that rounds numbers would spoil the inputs."""
    exchange = _Exchange(FUSE_CONTRACT)
    for line in exchange.begin():
        yield json.dumps(line)
    for case in matrix.cases:
        if len(case.input) <= LONGEST_INPUT_BYTES:
            answer = evaluate_json(case.input)
            yield from exchange.written("evaluate", msgspec.Raw(case.input), _answer_to(answer))
    for line in exchange("shutdown", {}, None):
        yield json.dumps(line)


def _answer_to(answer: Answer) -> Any:
    if isinstance(answer, Report):
        return messages.Evaluation(answer.decision, answer.status)
    problem = answer.errors[0]
    return messages.ErrorObject(REFUSED, f"{problem.path or 'the input'} {problem.message}")


class _Exchange:
    """Requests and their answers, as a connection lets them through."""

    def __init__(self, contract: messages.ContractReference) -> None:
        self._connection = Connection()
        self._contract = contract

    def begin(self) -> Iterator[dict[str, Any]]:
        adapter = messages.AdapterIdentity("transcript", "1", "any")
        yield from self(
            "initialize",
            messages.InitializeParams(self._contract),
            messages.InitializeResult(messages.PROTOCOL_VERSION, adapter),
        )

    def __call__(
        self, method: messages.Method, params: Any, result: Any
    ) -> Iterator[dict[str, Any]]:
        for line in self.written(method, params, result):
            yield json.loads(line)

    def written(self, method: messages.Method, params: Any, answer: Any) -> Iterator[str]:
        """The two lines, each with who wrote it, to the letter."""
        request = self._connection.send(method, params)
        yield f'{{"runner": {request.decode().rstrip()}}}'
        is_error = isinstance(answer, messages.ErrorObject)
        kind = messages.ErrorResponse if is_error else messages.ResultResponse
        response = msgspec.json.encode(kind(self._connection.last_id, answer))
        self._connection.receive(response + b"\n")
        self._connection.next_event()
        yield f'{{"adapter": {response.decode()}}}'


def _transcript(bundle: Bundle, model: Model) -> str:
    return "".join(json.dumps(line) + "\n" for line in _conversation(bundle, model))


def _conversation(bundle: Bundle, model: Model) -> Iterator[dict[str, Any]]:
    exchange = _Exchange(bundle.reference)
    yield from exchange.begin()
    for case in bundle.cases:
        yield from exchange("reset", {}, None)
        for operation, observation in zip(case.steps, model.trace(case.steps), strict=True):
            yield from exchange("step", operation, observation)
    yield from exchange("shutdown", {}, None)


def _project_template(kit: Kit) -> Iterator[tuple[Path, str]]:
    """The adapter that the kit's README has the reader write, and a README without that step."""
    readme = (kit.folder / "README.md").read_text()
    head, introduction = readme.split("\n## ")[0].split("\n\n", 1)
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", readme, re.S | re.M))
    steps = sections["In five minutes"]
    ((name, source),) = re.findall(r"[Ww]rite `([^`]+)`.*?^```\w+\n(.*?)^```$", steps, re.S | re.M)
    (*_, (how, commands)) = re.findall(r"((?:[^\n]+\n)+)\n```sh\n(.*?)```$", steps, re.S | re.M)
    yield kit.folder / "template" / name, source
    yield (
        kit.folder / "template/README.md",
        PROJECT_README.format(
            head=head,
            introduction=introduction,
            name=name,
            how=how,
            commands=_project_commands(kit, commands),
            about="\n".join(
                f"## {title}\n{text}".rstrip() + "\n"
                for title, text in sections.items()
                if title.startswith("What the ")
            ),
        ),
    )


def _project_commands(kit: Kit, in_readme: str) -> str:
    build = [shlex.join(command) for command in kit.project.build]
    adapter = adapter_argument(kit)
    run = f"retryproof run {adapter}"
    if not "\n".join([*build, run]).endswith(in_readme.strip()):
        raise SystemExit(f"{kit.folder}: adapter.toml has other commands than README.md")
    return "\n".join([*build, f"retryproof doctor {adapter}", run])


PROJECT_README = """\
{head}

{introduction}
`{name}` fails until it is connected, and says what to write there.

{how}
```sh
{commands}
```

The doctor tells what is wrong with the adapter, and how to mend it; the run, what is wrong with
the service.

{about}"""


def _layout(value: Any, depth: int = 0) -> str:
    """JSON with each small object or list of scalars on one line, so that a case reads well."""
    one_line = json.dumps(value, ensure_ascii=False)
    is_flat = not isinstance(value, dict | list) or not any(
        isinstance(part, dict | list)
        for part in (value.values() if isinstance(value, dict) else value)
    )
    if is_flat and (len(one_line) < WIDTH or isinstance(value, str)):
        return one_line
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(k)}: {_layout(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{outer}}}"
    return "[\n" + ",\n".join(inner + _layout(part, depth + 1) for part in value) + f"\n{outer}]"


if __name__ == "__main__":
    sys.exit(main())

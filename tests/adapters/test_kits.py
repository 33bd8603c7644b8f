"""Every adapter kit passes one and the same self-test, as real processes.

A kit's reference is driven as it is. How its library treats a program that prints to stdout and
fails is tested with a probe: the kit's folder with the reference's source replaced, as a user
would replace it by their own.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from retryproof.contract.model import FAULTS
from retryproof.kits.catalogue import Kit, kits
from retryproof.reports.report import Report
from retryproof.supervise.launch import Surroundings, program
from retryproof_protocol.framing import MAX_LINE_BYTES

from tests.driving import CASE_NAMES, run
from tests.toolchains import require_tools

REPOSITORY = Path(__file__).parent.parent.parent
TRANSCRIPTS = sorted(
    path
    for path in (REPOSITORY / "protocol/spec/transcripts").glob("*.jsonl")
    if path.stem != "retryfuse"
)
PROBES = Path(__file__).parent / "probes"

BUILD_SECONDS = 100.0
ANSWER_SECONDS = 20.0
LEAVE_SECONDS = 1.0

FAILURE = 'Größe 日本語 😀 "quoted" back\\slash\nnext line'
OPERATION = {"at": 0, "key": "A", "value": "A", "delivery": "received"}

REDIRECTS_ONLY_ITS_OWN_PRINTS = {"csharp", "java", "lua"}
"""Languages whose standard library can't give the number 1 to stderr: a child still has it."""


KITS = kits()


def build(kit: Kit) -> None:
    for command in kit.build:
        subprocess.run(command, cwd=kit.folder, check=True, timeout=BUILD_SECONDS)


def name_of(kit: Kit) -> str:
    return kit.name


@pytest.fixture(scope="session", params=KITS, ids=name_of)
def kit(request: pytest.FixtureRequest) -> Kit:
    """A kit whose tools are here, built."""
    kit: Kit = request.param
    require_tools(kit)
    build(kit)
    return kit


@pytest.fixture(scope="session")
def probe(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """The same kit, its reference replaced by a program that prints to stdout and fails."""
    folder = tmp_path_factory.mktemp(kit.name) / kit.name
    shutil.copytree(kit.folder, folder, ignore=shutil.ignore_patterns("build", "node_modules"))
    for source in (PROBES / kit.name).rglob("*.*"):
        replaced = folder / source.relative_to(PROBES / kit.name)
        assert replaced.is_file()
        shutil.copyfile(source, replaced)
    probe = replace(kit, folder=folder)
    build(probe)
    return probe


class Conversation:
    """One adapter process, and the runner's end of its pipes."""

    def __init__(self, kit: Kit, log: Path, *arguments: str) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                (*kit.run, *arguments),
                cwd=kit.folder,
                # The plainest locale: a library must not need a better one to speak UTF-8.
                env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LC_ALL": "C"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        self._unread = b""
        self._last_id = 0
        self.last_line = b""

    def ask(self, method: str, params: Any = None, request_id: int | None = None) -> dict[str, Any]:
        """The response to a request, which must bear its id."""
        self._last_id = self._last_id + 1 if request_id is None else request_id
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}}
        response = self.ask_line(json.dumps(request, ensure_ascii=False).encode())
        assert response["id"] == self._last_id
        return response

    def ask_line(self, line: bytes) -> dict[str, Any]:
        """The one line that answers this one."""
        self.write(line + b"\n")
        self.last_line = self._read_line()
        assert self._unread == b"", "the adapter wrote more than one line"
        response = json.loads(self.last_line.decode())
        assert response.pop("jsonrpc") == "2.0"
        assert isinstance(response, dict)
        return response

    def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        for start in range(0, len(data), 65536):
            piece = data[start : start + 65536]
            assert self._process.stdin.write(piece) == len(piece)

    def initialize(self) -> dict[str, Any]:
        contract = {"name": "retry-conformance", "version": 1}
        params = {"protocolVersion": 1, "contract": contract, "callTimeoutMs": 2000}
        result = self.ask("initialize", params)["result"]
        assert isinstance(result, dict)
        return result

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def status_within(self, seconds: float) -> int:
        """The exit status of an adapter that leaves by itself, with nothing more to say."""
        status = self._process.wait(seconds)
        assert self._process.stdout is not None
        assert self._process.stdout.read() == b""
        return status

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        # Its children become this process's own once any test has driven an adapter here.
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-self._process.pid, 0)

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + ANSWER_SECONDS
        while b"\n" not in self._unread:
            remaining = deadline - time.monotonic()
            readable, _, _ = select.select([self._process.stdout], [], [], max(0.0, remaining))
            assert readable, f"no answer in {ANSWER_SECONDS:g} s; its log: {self.log()}"
            data = self._process.stdout.read(65536)
            assert data, f"the adapter has ended; its log: {self.log()}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line


@pytest.fixture
def reference(kit: Kit, tmp_path: Path) -> Iterator[Conversation]:
    conversation = Conversation(kit, tmp_path / "stderr")
    yield conversation
    conversation.close()


@pytest.fixture
def probing(probe: Kit, tmp_path: Path) -> Iterator[Conversation]:
    conversation = Conversation(probe, tmp_path / "stderr")
    yield conversation
    conversation.close()


def test_there_is_a_probe_for_every_kit() -> None:
    assert sorted(folder.name for folder in PROBES.iterdir()) == [kit.name for kit in KITS]


@pytest.mark.parametrize("kit_as_written", KITS, ids=name_of)
def test_a_kit_is_named_like_its_folder_and_describes_itself(kit_as_written: Kit) -> None:
    assert kit_as_written.name == kit_as_written.folder.name
    assert kit_as_written.run
    assert kit_as_written.tools
    assert (kit_as_written.folder / "README.md").is_file()


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_replays_a_golden_transcript(kit: Kit, transcript: Path, tmp_path: Path) -> None:
    fault = () if transcript.stem == "correct" else ("--fault", transcript.stem)
    conversation = Conversation(kit, tmp_path / "stderr", *fault)
    try:
        for request, expected in exchanges(transcript):
            response = conversation.ask_line(json.dumps(request).encode())
            if request["method"] == "initialize":
                assert response["result"]["protocolVersion"] == 1
                assert response["result"]["capabilities"].get("clock") is None
            else:
                assert {"jsonrpc": "2.0", **response} == expected
        assert conversation.status_within(LEAVE_SECONDS) == 0
    finally:
        conversation.close()


def exchanges(transcript: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    lines = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    for asked, answered in zip(lines[::2], lines[1::2], strict=True):
        yield asked["runner"], answered["adapter"]


def report_on(kit: Kit, *arguments: str) -> Report:
    launch = program((*kit.run, *arguments), Surroundings(str(kit.folder), {}))
    report = run(launch, startup_seconds=30.0)
    assert report.warnings == ()
    assert report.resources.processes_leaked == 0
    assert report.adapter.language
    return report


def test_the_reference_passes_the_seven_cases(kit: Kit) -> None:
    report = report_on(kit)
    assert report.verdict == "pass"
    assert report.counts.passed == len(CASE_NAMES) == 7
    assert report.adapter.name == "reference"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_named(kit: Kit, fault: str) -> None:
    report = report_on(kit, "--fault", fault)
    assert report.verdict == "fail"
    assert report.diagnosis.fault == fault
    assert report.adapter.name == f"reference with {fault}"


def test_an_unknown_fault_is_refused(kit: Kit) -> None:
    command = (*kit.run, "--fault", "no-such-fault")
    refused = subprocess.run(
        command, cwd=kit.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    assert refused.returncode != 0
    assert refused.stdout == b""
    assert refused.stderr != b""


def test_leaves_when_its_input_ends(reference: Conversation) -> None:
    reference.initialize()
    reference.end_input()
    assert reference.status_within(LEAVE_SECONDS) == 0


def test_leaves_when_its_input_ends_in_mid_line(reference: Conversation) -> None:
    reference.initialize()
    reference.write(b'{"jsonrpc": "2.0", "id": 2, "meth')
    reference.end_input()
    assert reference.status_within(LEAVE_SECONDS) == 0


def test_leaves_after_shutdown_while_its_input_is_open(reference: Conversation) -> None:
    reference.initialize()
    assert "result" in reference.ask("shutdown")
    assert reference.status_within(LEAVE_SECONDS) == 0


@pytest.mark.parametrize("request_id", [0, 1, 2**31 - 1, 2**31, 2**32, 2**53 - 1])
def test_echoes_the_id_as_it_came(reference: Conversation, request_id: int) -> None:
    for method in ("reset", "no-such-method"):
        reference.ask(method, request_id=request_id)
        assert re.search(rb'"id": ?%d[,}]' % request_id, reference.last_line)


def test_refuses_a_line_over_1_mib_and_lives_on(reference: Conversation) -> None:
    assert "result" in reference.ask_line(reset_line_of(MAX_LINE_BYTES))
    for excess in (1, 2, MAX_LINE_BYTES):
        response = reference.ask_line(reset_line_of(MAX_LINE_BYTES + excess))
        assert response["error"]["code"] == -32600
        assert response["id"] is None
        assert reference.ask("reset")["result"] is None


def reset_line_of(length: int) -> bytes:
    start, end = b'{"jsonrpc":"2.0","id":7,"method":"reset","params":{"padding":"', b'"}}'
    return start + b"x" * (length - len(start) - len(end)) + end


def test_forgives_a_carriage_return(reference: Conversation) -> None:
    assert reference.ask_line(b'{"jsonrpc":"2.0","id":7,"method":"reset","params":{}}\r') == {
        "id": 7,
        "result": None,
    }


def test_refuses_what_is_no_request_and_lives_on(reference: Conversation) -> None:
    for line, code in {
        b"hello": -32700,
        b"": -32700,
        b'{"id":1,"method":"reset"': -32700,
        b'{"id":1,"method":"reset"}}': -32700,
        b"null": -32600,
        b"[1]": -32600,
        b'"reset"': -32600,
        b"{}": -32600,
        b'{"id":1,"method":null}': -32600,
    }.items():
        assert reference.ask_line(line)["error"]["code"] == code, line
    assert "error" in reference.ask_line(b"[" * 100_000 + b"]" * 100_000)
    assert reference.ask("reset")["result"] is None


def test_reads_any_json(reference: Conversation) -> None:
    """Members in another order, escapes, and members that the protocol does not know."""
    line = (
        rb' { "params" : {"more":[{"a":[[],{},-0.5e+3,true,false,null,"\"\\\/\b\f\n\r\t"]}, 1E2],'
        rb'"delivery":"\u006c\u006fst", "value" :"\u0041","key":"A","\ud83d\ude00":"\u00e9", "at":3'
        rb'},"x":{"method":"shutdown","id":5}, "method":"st\u0065p","id":12,"jsonrpc":"2.0"} '
    )
    reference.initialize()
    reference.ask("reset")
    assert reference.ask_line(line) == {
        "id": 12,
        "result": {"status": None, "receipt": None, "committedWrites": 1},
    }
    replay = reference.ask("step", {**OPERATION, "at": 4})["result"]
    assert replay == {"status": 200, "receipt": 1, "committedWrites": 1}


@pytest.mark.parametrize("escaped", [False, True])
def test_an_unknown_method_is_named_in_utf8(reference: Conversation, *, escaped: bool) -> None:
    method = "größe-日本語-😀"
    line = json.dumps({"jsonrpc": "2.0", "id": 3, "method": method}, ensure_ascii=escaped)
    response = reference.ask_line(line.encode())
    assert response["id"] == 3
    assert response["error"]["code"] == -32601
    assert method in response["error"]["message"]


def test_answers_a_thousand_calls_in_one_process(reference: Conversation) -> None:
    reference.initialize()
    for _ in range(500):
        assert reference.ask("reset")["result"] is None
        created = reference.ask("step", OPERATION)["result"]
        assert created == {"status": 201, "receipt": 1, "committedWrites": 1}


def test_a_failure_is_an_error_in_utf8_and_the_adapter_lives_on(probing: Conversation) -> None:
    probing.initialize()
    for _ in range(2):
        error = probing.ask("step", OPERATION)["error"]
        assert error["code"] == -32000
        assert FAILURE in error["message"]
    assert probing.ask("reset")["result"] is None


def test_what_the_program_prints_goes_to_stderr(probing: Conversation, kit: Kit) -> None:
    probing.initialize()
    probing.ask("reset")
    probing.ask("shutdown")
    assert probing.status_within(LEAVE_SECONDS) == 0
    log = probing.log()
    assert "printed by the program\n" in log
    assert ("printed by a child process\n" in log) is (
        kit.name not in REDIRECTS_ONLY_ITS_OWN_PRINTS
    )


def test_a_service_without_a_test_clock_says_so(probing: Conversation) -> None:
    assert probing.initialize()["capabilities"] == {"clock": {"secondsPerTick": 0.25}}


README_SECTIONS = {
    "In five minutes": "not connected yet: empty the service here",
    "The reference adapter": "Diagnosis: body-blind.",
}
"""What the last command of a section prints, which ends with status 1."""

BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)


@pytest.mark.parametrize("section", README_SECTIONS)
def test_the_readme_leads_from_an_empty_folder_to_a_report(
    kit: Kit, section: str, tmp_path: Path
) -> None:
    readme = (kit.folder / "README.md").read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(readme.split(f"## {section}\n")[1].split("\n## ")[0]))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "KIT": str(kit.folder), "PATH": path}
    for block in blocks:
        if block["language"] == "sh":
            finished = subprocess.run(
                ("bash", "-e", "-c", block["text"]),
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=BUILD_SECONDS,
            )
            assert finished.returncode == (block is blocks[-1]), finished.stdout
        else:
            name = re.findall("[Ww]rite `([^`]+)`", block["prose"])[-1]
            (tmp_path / name).write_text(block["text"], encoding="utf-8")
    assert README_SECTIONS[section] in finished.stdout

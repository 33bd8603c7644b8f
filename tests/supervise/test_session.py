"""A session with one adapter process: each call is answered, or the tree is dead."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import psutil
import pytest
from retryproof.errors import (
    AdapterCrashError,
    AdapterError,
    CallTimeoutError,
    LaunchError,
    MalformedAnswerError,
    VersionError,
)
from retryproof.supervise.channel import CancelledError, CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session
from retryproof_protocol.messages import ContractReference, Observation, Operation

from tests.driving import BUNDLE

OPERATION = Operation(0, "A", "A", "received")
ANSWERING = """
import json, os, signal, subprocess, sys, time
def answer(request, result):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
def initialized(version=1):
    return {"protocolVersion": version, "adapter": {"name": "test"}, "capabilities": {}}
OBSERVED = {"status": 201, "receipt": 1, "committedWrites": 1}
requests = map(json.loads, sys.stdin)
"""
GREETING = ANSWERING + "answer(next(requests), initialized())\n"


class Start(Protocol):
    """Starts an adapter from its Python source."""

    def __call__(
        self, source: str, call_seconds: float = 2.0, startup_seconds: float = 10.0
    ) -> Session: ...


@pytest.fixture
def start(guard: Guard, cancel: CancelToken) -> Iterator[Start]:
    sessions: list[Session] = []

    def start_session(
        source: str, call_seconds: float = 2.0, startup_seconds: float = 10.0
    ) -> Session:
        command = Command((sys.executable, "-I", "-S", "-c", source), {}, os.getcwd())
        session = Session(guard, command, Limits(startup_seconds, call_seconds), cancel)
        sessions.append(session)
        return session

    yield start_session
    for session in sessions:
        session.kill()


def greeted(session: Session) -> Session:
    session.initialize(BUNDLE.reference)
    return session


def test_calls_are_answered_in_order(start: Start) -> None:
    session = greeted(
        start(
            GREETING
            + "answer(next(requests), 'anything')\n"
            + "for request in requests:\n"
            + "    answer(request, {**OBSERVED, 'committedWrites': request['id']})\n"
        )
    )
    session.reset()
    assert [session.step(OPERATION) for _ in range(3)] == [
        Observation(201, 1, identifier) for identifier in (3, 4, 5)
    ]


def test_the_adapter_learns_the_contract_and_its_limit(start: Start) -> None:
    echo = ANSWERING + (
        "request = next(requests)\n"
        "print(request['params'], file=sys.stderr, flush=True)\n"
        "answer(request, initialized())\nnext(requests)\n"
    )
    session = greeted(start(echo, call_seconds=1.5))
    session.shut_down()
    assert session.stderr_tail.decode().strip() == str(
        {
            "contract": {"name": "retry-conformance", "version": 1},
            "protocolVersion": 1,
            "callTimeoutMs": 1500,
        }
    )


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("time.sleep(60)", CallTimeoutError, "No answer to `step` within 0.3 s"),
        ("while True: pass", CallTimeoutError, "No answer to `step` within 0.3 s"),
        ("sys.exit(7)", AdapterCrashError, "The adapter exited with status 7 while `step`"),
        ("os.abort()", AdapterCrashError, "The adapter was ended by SIGABRT while `step`"),
        ("print('hello', flush=True)", MalformedAnswerError, 'The line "hello" is not JSON'),
        (
            "os.write(1, b'half'); sys.exit(3)",
            MalformedAnswerError,
            'Stdout ended in the middle of a line: "half". The adapter exited with status 3.',
        ),
        (
            "os.close(1); time.sleep(60)",
            MalformedAnswerError,
            "The adapter closed its stdout while `step` was pending",
        ),
        ("answer(next(requests), 1)", MalformedAnswerError, "The result of `step` in"),
        (
            "os.kill(os.getpid(), signal.SIGSTOP)",
            CallTimeoutError,
            "No answer to `step` within 0.3 s",
        ),
    ],
    ids=[
        "sleeps",
        "spins",
        "exits",
        "aborts",
        "prints",
        "half-a-line",
        "closes-stdout",
        "wrong-result",
        "stops-itself",
    ],
)
def test_each_way_to_fail_a_step_has_its_error(
    start: Start, source: str, error: type[AdapterError], message: str
) -> None:
    session = greeted(start(GREETING + source, call_seconds=0.3))
    with pytest.raises(AdapterError) as caught:
        session.step(OPERATION)
    assert type(caught.value) is error
    assert caught.value.message.startswith(message)
    assert not caught.value.definite


def test_a_timeout_is_never_early_and_says_how_long_it_took(start: Start) -> None:
    session = greeted(start(GREETING + "time.sleep(60)", call_seconds=0.2))
    with pytest.raises(CallTimeoutError):
        session.step(OPERATION)
    assert session.call_seconds >= 0.2


def test_an_adapter_that_never_reads_is_on_the_same_clock(start: Start) -> None:
    session = greeted(start(GREETING + "time.sleep(60)", call_seconds=0.2))
    session._write("step", {"filler": "x" * 1_000_000})
    session._connection.state = session._connection.state.IDLE
    with pytest.raises(CallTimeoutError):
        session.step(OPERATION)


def test_a_closed_stdin_is_told_from_a_timeout(start: Start) -> None:
    source = GREETING + "request = next(requests); os.close(0); answer(request, OBSERVED)\n"
    session = greeted(start(source + "time.sleep(60)", call_seconds=30))
    session.step(OPERATION)
    with pytest.raises(MalformedAnswerError, match="The adapter closed its stdin"):
        session.step(OPERATION)


def test_a_flood_of_stderr_blocks_nobody_and_its_end_is_kept(start: Start) -> None:
    flood = "os.write(2, b'x' * 10_000_000 + b'the end')\n"
    session = greeted(start(GREETING + flood + "answer(next(requests), OBSERVED)"))
    session.step(OPERATION)
    session.kill()
    assert session.stderr_tail.endswith(b"the end")
    assert len(session.stderr_tail) == 64 * 1024


def test_an_endless_line_is_refused_before_the_deadline(start: Start) -> None:
    session = greeted(start(GREETING + "while True: os.write(1, b'x' * 65536)", call_seconds=60))
    with pytest.raises(MalformedAnswerError, match="longer than 1 MiB"):
        session.step(OPERATION)


def test_a_process_that_ignores_signals_dies_all_the_same(start: Start) -> None:
    ignoring = "for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n"
    session = greeted(start(GREETING + ignoring + "time.sleep(60)", call_seconds=0.2))
    with pytest.raises(CallTimeoutError):
        session.step(OPERATION)
    assert session.kill().status == -9


def test_children_that_hold_the_pipes_do_not_delay_the_end(start: Start) -> None:
    source = GREETING + "subprocess.Popen(['/bin/sleep', '60']); sys.exit(0)"
    session = greeted(start(source, call_seconds=30))
    with pytest.raises(AdapterCrashError, match="1 stray process had to be killed"):
        session.step(OPERATION)
    assert session.call_seconds < 15


def test_leaving_well_earns_no_warning(start: Start) -> None:
    session = greeted(start(GREETING + "answer(next(requests), None)"))
    assert session.shut_down() == ()


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        ("sys.exit(4)", "After `shutdown` the adapter exited with status 4."),
        ("list(requests); time.sleep(60)", "The adapter did not leave within 1 s of `shutdown`"),
        (
            "subprocess.Popen(['/bin/sleep', '60'])",
            "After `shutdown` the adapter left processes behind. 1 stray process had to be "
            "killed (/bin/sleep 60).",
        ),
    ],
    ids=["status", "stays", "leaves-a-child"],
)
def test_leaving_badly_is_a_warning(start: Start, source: str, warning: str) -> None:
    session = greeted(start(GREETING + source))
    (said,) = session.shut_down()
    assert said.startswith(warning)


@pytest.mark.parametrize(
    ("argv", "cwd", "message"),
    [
        (("no-such-program",), ".", "The program no-such-program was not found"),
        (("/dev/null",), ".", "The program /dev/null is not executable."),
        (("true",), "/no/such/folder", "The folder /no/such/folder can't be entered"),
        (("x" * 300_000,), ".", "The program xxx"),
    ],
    ids=["not-found", "not-executable", "no-folder", "too-long"],
)
def test_what_cannot_be_launched_says_why(
    guard: Guard, cancel: CancelToken, argv: tuple[str, ...], cwd: str, message: str
) -> None:
    environment = {"PATH": os.environ["PATH"]}
    with pytest.raises(LaunchError) as caught:
        Session(guard, Command(argv, environment, cwd), Limits(), cancel)
    assert caught.value.message.startswith(message)
    assert caught.value.definite


def test_a_file_in_no_format_is_refused(guard: Guard, cancel: CancelToken, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x00\x01\x02")
    program.chmod(0o755)
    with pytest.raises(LaunchError, match="is in no format that can be run"):
        Session(guard, Command((str(program),), {}, "."), Limits(), cancel)


def test_silence_at_the_start_is_a_launch_failure(start: Start) -> None:
    session = start("import time; time.sleep(60)", startup_seconds=0.3)
    with pytest.raises(LaunchError, match=r"did not answer `initialize` within 0\.3 s"):
        session.initialize(BUNDLE.reference)


def test_another_protocol_version_is_told_apart(start: Start) -> None:
    session = start(ANSWERING + "answer(next(requests), initialized(2))")
    with pytest.raises(VersionError, match="speaks protocol version 2; this runner speaks 1"):
        session.initialize(ContractReference("retry-conformance", 1))


def test_a_cancellation_wakes_a_pending_call(start: Start, cancel: CancelToken) -> None:
    session = greeted(start(GREETING + "time.sleep(60)", call_seconds=60))
    timer = threading.Timer(0.05, cancel.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        session.step(OPERATION)
    timer.join()
    assert session.call_seconds < 30


def test_the_guard_is_used_again_for_the_next_adapter(start: Start) -> None:
    for _ in range(3):
        session = greeted(start(GREETING + "sys.exit(1)"))
        with pytest.raises(AdapterCrashError):
            session.step(OPERATION)


def test_the_adapter_sees_only_its_own_descriptors(start: Start) -> None:
    listing = "print(sorted(os.listdir('/proc/self/fd')), file=sys.stderr, flush=True)\n"
    session = greeted(start(ANSWERING + listing + "answer(next(requests), initialized())"))
    session.shut_down()
    # The fourth is the listing's own.
    assert session.stderr_tail.decode().strip() == "['0', '1', '2', '3']"


def test_the_adapter_starts_with_default_signals_and_limits(start: Start) -> None:
    probe = (
        "import resource\n"
        "print([signal.getsignal(n) for n in (2, 13, 15, 17)],"
        " resource.getrlimit(resource.RLIMIT_CORE),"
        " resource.getrlimit(resource.RLIMIT_NOFILE), os.getsid(0) == os.getpid(),"
        " file=sys.stderr, flush=True)\n"
    )
    session = greeted(start(ANSWERING + probe + "answer(next(requests), initialized())"))
    session.shut_down()
    said = session.stderr_tail.decode()
    # Python itself catches SIGINT and ignores SIGPIPE.
    assert said.count("SIG_DFL") == 2
    assert "(0, 0) (1024, 1024) True" in said


def attacks_its_guard(signal_name: str) -> str:
    return (
        "import os, signal, subprocess, time\n"
        "subprocess.Popen(['/bin/sleep', '60'], start_new_session=True)\n"
        f"os.kill(os.getppid(), signal.{signal_name})\n"
        "time.sleep(60)\n"
    )


def test_an_adapter_that_kills_its_guard_does_not_escape(cancel: CancelToken) -> None:
    guard = Guard()
    command = Command((sys.executable, "-c", attacks_its_guard("SIGKILL")), {}, os.getcwd())
    session = Session(guard, command, Limits(), cancel)
    with pytest.raises(
        AdapterCrashError, match="The guard process that contains the adapter was killed"
    ):
        session.initialize(BUNDLE.reference)
    assert [child.pid for child in psutil.Process().children()] == [guard.pid]
    guard.close()


def test_a_guard_that_was_lost_is_replaced(cancel: CancelToken) -> None:
    guard = Guard()
    command = Command((sys.executable, "-c", attacks_its_guard("SIGKILL")), {}, os.getcwd())
    with pytest.raises(AdapterCrashError):
        Session(guard, command, Limits(), cancel).initialize(BUNDLE.reference)
    correct = Command((sys.executable, "-I", "-c", GREETING), {}, os.getcwd())
    session = greeted(Session(guard, correct, Limits(), cancel))
    session.kill()
    guard.close()

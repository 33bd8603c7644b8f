"""The report for people: what must stand in it, and what must never reach a terminal."""

from collections.abc import Callable

import pytest
from retryproof.errors import AdapterError
from retryproof.events import AdapterDescription
from retryproof.reports.report import Report
from retryproof.reports.text import describe_observation, describe_operation, render_report
from retryproof.supervise import failures
from retryproof.supervise.failures import Remains
from retryproof.supervise.guard import Command, Gone, LaunchRefusedError
from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import AdapterIdentity, ErrorObject, Observation, Operation

from tests.bundle import BUNDLE, CASES
from tests.golden_files import rendered
from tests.protocol.conversations import violation_of
from tests.reports.runs import ScriptedRun, adapter, complete_run

NASTY = "\x1b[2Jred\x1b]0;owned\x07\u202egnp.exe\x9b31m\x00\u2066"


def text_of(report: Report) -> str:
    return rendered(render_report(report, BUNDLE, lambda case: f"retryproof run --case {case} x"))


def assert_harmless(text: str) -> None:
    assert all(line.isprintable() for line in text.splitlines()), repr(text)
    assert "\r" not in text
    assert "\x0b" not in text


def test_the_verdict_comes_first_then_the_evidence_and_what_is_not_covered() -> None:
    lines = text_of(complete_run()).splitlines()

    assert lines[0].startswith("pass: 7 cases planned: 7 passed, 0 failed")
    assert lines[1].startswith("Evidence: adapter: ")
    assert lines[2] == (
        "Not covered: concurrent requests, process crashes, persistence across restarts, "
        "clock skew, exactly-once delivery."
    )


def test_a_declared_deviation_stands_in_the_first_lines() -> None:
    run = ScriptedRun(call_seconds=5.0)
    run.launch_fails()

    first_lines = text_of(run.report()).splitlines()[:5]

    assert any("callTimeoutSeconds is 5, where the contract has 2" in line for line in first_lines)


@pytest.mark.parametrize("fault", [fault.name for fault in BUNDLE.faults])
def test_each_failed_case_has_its_trace_and_a_command_that_repeats_it(fault: str) -> None:
    text = text_of(complete_run(fault))

    assert BUNDLE.fault(fault).explanation in text
    for name, case in CASES.items():
        is_detailed = f"\nFAIL {name}\n" in text
        assert is_detailed is (name in BUNDLE.fault(fault).caught_by)
        assert (f"retryproof run --case {name} x" in text) is is_detailed
        assert (case.promise in text) is is_detailed


def test_passed_cases_have_no_command_to_repeat_them() -> None:
    assert "--case" not in text_of(complete_run())


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (Operation(0, "A", "A", "received"), "tick 0: key A, body A"),
        (Operation(24, "B", "A", "lost"), "tick 24: key B, body A, lost"),
    ],
)
def test_an_operation_in_words(operation: Operation, words: str) -> None:
    assert describe_operation(operation) == words


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (Observation(201, 1, 1), "201, receipt 1; 1 write"),
        (Observation(409, None, 2), "409, no receipt; 2 writes"),
        (Observation(None, None, 0), "nothing; 0 writes"),
        (Observation(None, 3, 1), "no status, receipt 3; 1 write"),
        (None, "no answer"),
    ],
)
def test_an_observation_in_words(observation: Observation | None, words: str) -> None:
    assert describe_observation(observation).plain == words


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(AdapterIdentity(NASTY), id="name"),
        pytest.param(AdapterIdentity("shop", NASTY), id="version"),
        pytest.param(AdapterIdentity("shop", "1", NASTY), id="language"),
        pytest.param(AdapterIdentity("two\nlines\rand\x0bmore"), id="line ends"),
    ],
)
def test_the_adapters_own_words_about_itself_never_reach_the_text_raw(
    identity: AdapterIdentity,
) -> None:
    run = ScriptedRun()
    run.launch(identity)
    run.gone()

    text = text_of(run.report())

    assert_harmless(text)
    assert len(text.splitlines()) == len(text_of(ScriptedRun().report()).splitlines())


@pytest.mark.parametrize(
    "description",
    [
        pytest.param(adapter(NASTY), id="program"),
        pytest.param(adapter("x", NASTY), id="argument"),
        pytest.param(adapter("node", "host.mjs", NASTY, host="node"), id="module"),
        pytest.param(adapter("x", cwd=NASTY), id="folder"),
    ],
)
def test_the_command_never_reaches_the_text_raw(description: AdapterDescription) -> None:
    assert_harmless(text_of(ScriptedRun(adapter=description).report()))


def remains(*, stderr: str = "", unfinished: str = "", stray: str = "sleep") -> Remains:
    return Remains(
        Gone(status=-9, strays=1, stray_commands=(stray,)), stderr.encode(), unfinished.encode()
    )


def malformed(line: bytes) -> AdapterError:
    broken = violation_of(line)
    error = RemoteProtocolError(broken.rule, broken.message, broken.advice)
    return failures.malformed(error, remains(stderr=NASTY))


NASTY_BYTES = NASTY.encode()
ESCAPED = b'"\\u001b[2J\\u202e\\u0000"'
SAID: dict[str, Callable[[], AdapterError]] = {
    "an error's message": lambda: failures.refused("step", ErrorObject(-1, NASTY)),
    "a printed line": lambda: malformed(NASTY_BYTES + b"\n"),
    "a line without an end": lambda: malformed(NASTY_BYTES),
    "a string": lambda: malformed(b'"' + NASTY_BYTES + b'"\n'),
    "a member": lambda: malformed(b'{"jsonrpc":"2.0","id":1,' + ESCAPED + b":1}\n"),
    "a repeated member": lambda: malformed(b"{" + ESCAPED + b":1," + ESCAPED + b":1}\n"),
    "a partial answer": lambda: failures.not_in_time("step", 2.0, remains(unfinished=NASTY)),
    "stderr at a timeout": lambda: failures.not_in_time("reset", 2.0, remains(stderr=NASTY)),
    "stderr at a crash": lambda: failures.crashed("step", remains(stderr=NASTY)),
    "stderr at the start": lambda: failures.not_in_time("initialize", 30.0, remains(stderr=NASTY)),
    "a stray's name": lambda: failures.crashed("step", remains(stray=NASTY)),
    "a program's name": lambda: failures.not_launched(
        LaunchRefusedError("exec", NASTY, 2), Command((NASTY,), {}, NASTY)
    ),
    "the system's reason": lambda: failures.not_launched(
        LaunchRefusedError("exec", NASTY, None), Command((NASTY,), {}, NASTY)
    ),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_what_an_adapter_says_as_it_fails_never_reaches_the_text_raw(
    said: Callable[[], AdapterError],
) -> None:
    error = said()
    run = ScriptedRun()
    run.launch()
    run.case_fails_at(BUNDLE.cases[0], (), error.kind, error.message, error.advice)

    text = text_of(run.report())

    assert_harmless(text)
    assert error.message in text


def test_a_message_is_no_markup() -> None:
    run = ScriptedRun()
    run.launch(AdapterIdentity("[bold]shop[/bold] :smile: [/]"))
    run.gone()

    assert "[bold]shop[/bold] :smile: [/]" in text_of(run.report())

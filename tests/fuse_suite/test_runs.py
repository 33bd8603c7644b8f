"""Runs of the suite retryfuse over real processes: correct, faulty and broken adapters."""

from pathlib import Path

import pytest
from retryproof.errors import InvalidArgumentsError
from retryproof.events import Call, CallStarted, CaseStarted, Event
from retryproof.fuse.faults import FAULTS
from retryproof.supervise.launch import module

from tests.driving import here, python_module, python_program
from tests.fuse_suite.driving import CASES, FEW, MATRIX, REFERENCE, failed, reference, run
from tests.toolchains import needs_node

SERVE = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    method, number = request["method"], request["id"]
    answer = {"result": {"decision": "reject_conflict", "status": "fail"}}
    if method == "initialize":
        assert request["params"]["contract"] == {"name": "retryfuse", "version": 1}
        answer = {"result": {"protocolVersion": 1, "adapter": {"name": "inline"}}}
    if number == 4:
        %s
    print(json.dumps({"jsonrpc": "2.0", "id": number, **answer}), flush=True)
"""
THIRD = 2
"""The initialization is request 1, and each case one more."""

BROKEN = {
    "crash": "os._exit(3)",
    "timeout": "time.sleep(60)",
    "malformed": "print('a log line')",
}


def test_the_reference_passes_every_case_as_a_module() -> None:
    events: list[Event] = []

    report = run(python_module(REFERENCE), sinks=[events.append])

    assert (report.verdict, report.exit_status, report.diagnosis.fault) == ("pass", 0, None)
    assert report.schema == "retryproof.fuse-report/1"
    assert report.contract.digest == MATRIX.digest
    assert report.unsent.cases == MATRIX.unsendable
    assert report.warnings == ()
    assert report.resources.calls == len(MATRIX.cases)
    assert report.resources.processes_spawned == 1
    started = [event.case for event in events if isinstance(event, CaseStarted)]
    calls = [event.call for event in events if isinstance(event, CallStarted)]
    assert started == list(CASES)
    assert calls == [Call("initialize"), *[Call("evaluate")] * len(CASES)]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_and_named(fault: str) -> None:
    report = run(reference("--fault", fault))

    assert (report.verdict, report.diagnosis.fault) == ("fail", fault)
    assert report.diagnosis.explanation == FAULTS[fault].explanation
    assert report.adapter.name == f"retryfuse reference with {fault}"
    for case in failed(report):
        assert fault in case.resembles


@pytest.mark.parametrize("kind", BROKEN)
def test_an_adapter_that_breaks_in_mid_suite_leaves_the_rest_accounted_for(kind: str) -> None:
    report = run(python_program(SERVE % BROKEN[kind]), cases=FEW, call_seconds=0.5)

    assert report.verdict == "incomplete"
    verdicts = [case.verdict for case in report.cases]
    assert verdicts[:THIRD] == ["pass"] * THIRD
    assert verdicts[THIRD:] == ["incomplete", *["not-run"] * (len(FEW) - THIRD - 1)]
    failure = report.cases[THIRD].failure
    assert failure is not None
    assert (failure.kind, failure.call) == (kind, Call("evaluate"))
    assert all(case.actual is None for case in report.cases[THIRD:])
    assert "Nothing that was observed differs" in report.diagnosis.explanation


@pytest.mark.parametrize("kind", BROKEN)
def test_keep_going_has_a_fresh_process_go_on_with_the_next_case(kind: str) -> None:
    launch = python_program(SERVE % BROKEN[kind])

    report = run(launch, cases=FEW, call_seconds=0.5, keep_going=True)

    # Each process breaks at its third case.
    expected = ["incomplete" if index % 3 == THIRD else "pass" for index in range(len(FEW))]
    assert [case.verdict for case in report.cases] == expected
    assert report.resources.processes_spawned == expected.count("incomplete") + 1


@pytest.mark.parametrize(
    "result",
    [
        '{"decision": "retry", "status": "pass"}',
        '{"decision": "brake", "status": "unverified"}',
        '{"decision": null, "status": "unverified"}',
        '{"decision": "brake"}',
        '{"decision": "brake", "status": "fail", "why": 1}',
        '"brake"',
        "null",
    ],
)
def test_a_result_out_of_form_is_malformed(result: str) -> None:
    report = run(
        python_program(SERVE % f"answer = json.loads('{{\"result\": {result}}}')"), cases=FEW
    )

    failure = report.cases[THIRD].failure
    assert failure is not None
    assert failure.kind == "malformed"
    assert failure.message.startswith("The result of `evaluate` in ")


def test_a_decision_with_a_status_of_another_is_a_failed_case() -> None:
    other = 'answer = {"result": {"decision": "reject_conflict", "status": "pass"}}'

    report = run(python_program(SERVE % other), cases=FEW)

    assert [case.name for case in failed(report)] == [FEW[THIRD]]
    assert report.cases[THIRD].resembles == ()
    assert report.diagnosis.fault is None


def test_a_valid_input_that_is_refused_is_a_failed_case_with_the_refusals_words() -> None:
    refusal = 'answer = {"error": {"code": 7, "message": "not today"}}'

    report = run(python_program(SERVE % refusal), cases=FEW)

    (case,) = failed(report)
    assert case.actual is not None
    assert (case.name, case.actual.status, case.refusal) == (FEW[THIRD], "refused", "not today")


def test_a_malformed_input_that_is_answered_is_a_failed_case() -> None:
    report = run(python_program(SERVE % "pass"), cases=["misspelt-record"])

    (case,) = failed(report)
    assert case.expected.status == "refused"
    assert case.actual is not None
    assert case.actual.decision == "reject_conflict"


def test_an_adapter_for_the_other_contract_is_asked_whether_it_knows_the_call() -> None:
    other = Path(REFERENCE).with_name("reference.py")

    report = run(python_module(other), cases=[*FEW, "misspelt-record"])

    assert report.counts.failed == len(FEW)
    assert report.diagnosis.explanation.startswith(
        "Every input was refused, the valid ones as well. The first refusal of those says: "
        "no such method: evaluate."
    )


@needs_node
def test_a_module_of_node_gets_the_input_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "adapter.mjs"
    path.write_text(
        """
        export function evaluate(input, { signal, text }) {
          if (signal.aborted || JSON.stringify(JSON.parse(text)) !== JSON.stringify(input)) {
            throw new Error(`another text: ${text}`);
          }
          if (/1\\.0{19}1/.test(text)) throw new Error("contractVersion must be 1");
          return { decision: "replay_safe", status: "pass" };
        }
        """
    )
    names = [name for name, case in CASES.items() if case.category == "positive"]

    report = run(module(str(path), here()), cases=[*names, "version-is-nearly-one"])

    assert report.counts.planned == len(names) + 1
    assert {case.name for case in failed(report)} == {
        name for name in names if CASES[name].expected.decision != "replay_safe"
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("latin-1", "The case latin-1 can't be sent: it is text or bytes that are no JSON."),
        ("rows-1-and-33", "The contract has no case rows-1-and-33."),
    ],
)
def test_a_case_that_there_is_not_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidArgumentsError) as raised:
        run(reference(), cases=[name])
    assert raised.value.message == message
    assert len(raised.value.advice) < 200

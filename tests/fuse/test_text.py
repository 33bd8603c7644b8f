"""The answer for people: what an on-call engineer reads at night."""

from pathlib import Path
from typing import Any

import pytest
from retryproof.cli.fuse import fuse
from retryproof.fuse import Request, evaluate_json, read_request, reading
from retryproof.fuse.account import explain
from retryproof.fuse.matrix import REFUSED, Case
from retryproof.fuse.table import OTHERWISE, TABLE
from retryproof.reports.fuse_text import render_answer

from tests.fuse.matrix import CASES
from tests.fuse.strategies import HASH, encoded


def text_of(data: bytes) -> str:
    request = read_request(data)
    lines = render_answer(evaluate_json(data), request if isinstance(request, Request) else None)
    return "".join(f"{line.plain}\n" for line in lines)


def test_a_doubtful_write_behind_which_the_circuit_is_open() -> None:
    value = {
        "operation": {"endpoint": "POST /v1/charges", "idempotencyKey": "order-1"},
        "attempts": [
            {"outcome": "timeout", "phase": "post_write", "costUnits": 0.5},
            {"outcome": "failure", "phase": "pre_write"},
        ],
        "policy": {"failureThreshold": 2},
    }

    assert text_of(encoded(value)) == (
        "DO NOT SEND IT: LOOK FIRST: reconcile_required (status unknown)\n"
        "What to do now: Do not send it: look up whether its effect is there, then ask again with "
        "a record that confirms the effect, or with pre_write as the phase of each attempt that "
        "proves to have had none.\n"
        "What this means: Whether the request has had its effect cannot be known from what was "
        "given. That is neither a success nor a failure: somebody has to look.\n"
        "Because: An attempt timed out after its write had begun. (uncertain_write)\n"
        "Besides: The circuit is open: the attempts in a row without success have reached the "
        "failure threshold. (failure_streak)\n"
        "Circuit: OPEN. 2 attempts in a row without success, where it opens at 2; 1.5 units spent, "
        "where it opens at 100.\n"
        "Fingerprint: not known\n"
        'Operation: POST /v1/charges, key "order-1"\n'
        "  attempts[0]: outcome timeout, phase post_write\n"
        "  attempts[1]: outcome failure, phase pre_write\n"
    )


def test_malformed_input() -> None:
    assert text_of(b'{"operation":{"endpont":"e"}}') == (
        "NOT JUDGED: the input is malformed (status unverified)\n"
        "What to do now: Do not send it: correct the input where it says below, and ask again.\n"
        "  operation.endpoint is missing.\n"
        "  operation.endpont is not allowed here: only endpoint, idempotencyKey, requestHash, "
        "body.\n"
    )


def test_input_that_is_no_json() -> None:
    assert "\n  the input is not JSON: " in text_of(b"{")


def test_the_answer_alone_is_enough() -> None:
    lines = list(render_answer(evaluate_json(b'{"operation":{"endpoint":"e"}}')))

    assert lines[0].plain == "SEND IT: replay_safe (status pass)"
    assert not any("Operation" in line.plain for line in lines)


def test_a_fingerprint_is_shown_in_full() -> None:
    assert f"Fingerprint: {HASH}\n" in text_of(
        encoded({"operation": {"endpoint": "e", "requestHash": HASH}})
    )


@pytest.mark.parametrize(("cost", "spent"), [(1, "1 unit"), (0, "0 units"), (1.5, "1.5 units")])
def test_a_single_unit_is_no_plural(cost: float, spent: str) -> None:
    data = encoded({"operation": {"endpoint": "e"}, "attempts": [{"costUnits": cost}]})
    case = Case("one-attempt", "positive", data, REFUSED)

    assert f"; {spent} spent, where it opens at 100." in text_of(data)
    assert explain(case).about.endswith(f", {spent} spent of 100.")


def test_a_single_attempt_that_is_not_shown_is_no_plural() -> None:
    text = text_of(encoded({"operation": {"endpoint": "e"}, "attempts": [{}] * 11}))

    assert "  and 1 attempt more\n" in text


@pytest.mark.parametrize(
    ("data", "status"), [(b'{"operation":{"endpoint":"e"}}', 0), (b'{"operation":{}}', 1)]
)
def test_the_command_reads_its_input_once(
    data: bytes,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    decoded: list[bytes] = []

    def read_quickly(given: bytes) -> Request | None:
        decoded.append(given)
        return reading_quickly(given)

    reading_quickly = reading.read_quickly
    monkeypatch.setattr(reading, "read_quickly", read_quickly)
    file = tmp_path / "input.json"
    file.write_bytes(data)

    assert fuse.main([str(file), "--human"], standalone_mode=False) == status
    assert decoded == [data]
    assert capsys.readouterr().out == text_of(data)


@pytest.mark.parametrize("count", [10, 11, 10_000])
def test_long_histories_are_cut(count: int) -> None:
    text = text_of(encoded({"operation": {"endpoint": "e"}, "attempts": [{}] * count}))

    assert text.count("attempts[") == 10
    assert ("  and 9,990 attempts more\n" in text) == (count == 10_000)


def test_nothing_reaches_the_terminal_raw() -> None:
    hostile = "\x1b[2J\u202e[bold]x"
    value: dict[str, Any] = {"operation": {"endpoint": hostile, "idempotencyKey": hostile}}

    shown = text_of(encoded(value))
    refused = text_of(encoded({**value, hostile: 1, "attempts": [{"outcome": hostile}]}))

    assert shown.count("\\x1b[2J\\u202e[bold]x") == 2
    assert refused.count("\\x1b[2J\\u202e[bold]x") == 2
    for line in (shown + refused).splitlines():
        assert line.isprintable()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_case_has_a_text_that_says_what_to_do(case: Any) -> None:
    lines = text_of(case.data).splitlines()

    assert case.expected["decision"] is None or case.expected["decision"] in lines[0]
    assert lines[1].startswith("What to do now: ")


def test_only_a_pass_tells_to_send_or_return() -> None:
    for row in (*TABLE, OTHERWISE):
        for ground in row.grounds:
            forbids = ground.advice.startswith(("Do not send it", "Do not execute it again"))
            assert forbids == (row.decision != "replay_safe")


def test_every_message_of_the_table_can_be_reached() -> None:
    """By some fixture: no advice stays unseen until the night it is needed."""
    seen = " ".join(
        reason.message
        for case in CASES
        if case.expected["decision"]
        for reason in getattr(evaluate_json(case.data), "reasons", ())
    )
    for row in (*TABLE, OTHERWISE):
        for ground in row.grounds:
            assert ground.message in seen, ground.message

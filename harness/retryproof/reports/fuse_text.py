"""The answer of `retryfuse` for people: what to do now comes first, then why."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from retryproof_protocol.quoting import escape_controls
from rich.text import Text

from ..fuse import Answer, Circuit, Decision, Report, Request, Status, Unverified

_MAX_SHOWN_ATTEMPTS = 10
_STYLES: Mapping[Status, str] = MappingProxyType(
    {"pass": "bold green", "fail": "bold red", "unknown": "bold yellow"}
)
_HEADLINES: Mapping[Decision, str] = MappingProxyType(
    {
        "replay_safe": "SEND IT",
        "replay_stored": "RETURN THE STORED RESPONSE",
        "brake": "DO NOT SEND IT",
        "reconcile_required": "DO NOT SEND IT: LOOK FIRST",
        "reject_conflict": "REFUSE IT",
    }
)
_MEANINGS: Mapping[Decision, str] = MappingProxyType(
    {
        "replay_safe": "The request has had no effect, and the circuit is within its limits.",
        "replay_stored": "The request has had its effect, once. It must not have it twice.",
        "brake": "Another attempt now could have the effect twice, or add to a storm of retries.",
        "reconcile_required": "Whether the request has had its effect cannot be known from what "
        "was given. That is neither a success nor a failure: somebody has to look.",
        "reject_conflict": "The same key stands for two different requests. Only one of them can "
        "have it.",
    }
)


def render_answer(answer: Answer, request: Request | None = None) -> Iterator[Text]:
    """The whole answer, line by line; with the request, also what it was about."""
    if isinstance(answer, Unverified):
        yield from _render_unverified(answer)
        return
    headline = f"{_HEADLINES[answer.decision]}: {answer.decision} (status {answer.status})"
    yield Text(headline, _STYLES[answer.status])
    yield _labelled("What to do now", answer.advice)
    yield _labelled("What this means", _MEANINGS[answer.decision])
    for label, reason in zip(_reason_labels(answer), answer.reasons, strict=True):
        yield _labelled(label, f"{reason.message} ({reason.code})")
    yield _labelled("Circuit", _describe_circuit(answer.circuit))
    yield _labelled("Fingerprint", answer.fingerprint or "not known")
    if request is not None:
        yield from _render_request(request)


def _render_unverified(answer: Unverified) -> Iterator[Text]:
    yield Text("NOT JUDGED: the input is malformed (status unverified)", "bold red")
    yield _labelled(
        "What to do now",
        "Do not send it: correct the input where it says below, and ask again.",
    )
    for problem in answer.errors:
        yield Text(f"  {problem.path or 'the input'} {problem.message}")


def _reason_labels(report: Report) -> Iterator[str]:
    yield "Because"
    yield from ("Besides" for _ in report.reasons[1:])


def _describe_circuit(circuit: Circuit) -> str:
    attempts = "attempt" if circuit.failure_streak == 1 else "attempts"
    units = "unit" if circuit.spent_units == 1 else "units"
    return (
        f"{'OPEN' if circuit.open else 'closed'}. {circuit.failure_streak} {attempts} in a row "
        f"without success, where it opens at {circuit.failure_threshold}; {circuit.spent_units} "
        f"{units} spent, where it opens at {circuit.budget_units}."
    )


def _render_request(request: Request) -> Iterator[Text]:
    operation, attempts = request.operation, request.attempts or ()
    key = operation.idempotency_key
    shown_key = f'key "{escape_controls(key)}"' if isinstance(key, str) else "no idempotency key"
    yield _labelled("Operation", f"{escape_controls(operation.endpoint)}, {shown_key}")
    for index, attempt in enumerate(attempts[:_MAX_SHOWN_ATTEMPTS]):
        outcome, phase = attempt.outcome or "unknown", attempt.phase or "unknown"
        yield Text(f"  attempts[{index}]: outcome {outcome}, phase {phase}")
    if unshown := len(attempts[_MAX_SHOWN_ATTEMPTS:]):
        yield Text(f"  and {unshown:,} {'attempt' if unshown == 1 else 'attempts'} more")


def _labelled(label: str, text: str) -> Text:
    return Text(f"{label}: ", "bold").append(text, "not bold")

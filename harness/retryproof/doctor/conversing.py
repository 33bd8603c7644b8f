"""The checks of the conversation itself: that it starts, and that each answer is in form."""

from collections.abc import Callable

from retryproof_protocol.messages import Method
from retryproof_protocol.quoting import escape_controls

from .findings import Findings
from .verdict import Passed, Verdict, not_checked


def starts(findings: Findings) -> Verdict:
    """The process could be started, and was there for its first request."""
    count = sum(conversation.was_launched for conversation in findings.conversations)
    if count == 0:
        return not_checked(findings)
    return Passed("It runs." if count == 1 else f"{count} processes of it, one after the other.")


def initialize(findings: Findings) -> Verdict:
    """It says who it is, in the one version of the protocol."""
    for conversation in findings.conversations:
        identity = conversation.identity
        if identity is not None:
            parts = (identity.name, identity.version, identity.language)
            named = ", ".join(escape_controls(part) for part in parts if part)
            return Passed(f"It calls itself {named}, and speaks protocol version 1.")
    return not_checked(findings)


def after_answers(describe: Callable[[int], str]) -> Callable[[Findings], Verdict]:
    """A check that holds for every answer that came, if any did."""

    def judge_answers(findings: Findings) -> Verdict:
        count = sum(len(conversation.answers) for conversation in findings.conversations)
        return Passed(describe(count)) if count else not_checked(findings)

    return judge_answers


def reset(findings: Findings) -> Verdict:
    """`reset` is answered, be it with anything."""
    count = _count_answers(findings, "reset")
    return Passed(f"{count} of {count} calls answered.") if count else not_checked(findings)


def step(findings: Findings) -> Verdict:
    """Each operation of a whole round is answered in form."""
    if not any(conversation.rounds for conversation in findings.conversations):
        return not_checked(findings)
    count = _count_answers(findings, "step")
    return Passed(f"{count} of {count} calls answered in form.")


def _count_answers(findings: Findings, method: Method) -> int:
    answers = (answer for each in findings.conversations for answer in each.answers)
    return sum(answer.method == method for answer in answers)

"""From findings to verdicts: what each check saw, what to mend, or why it could not be made."""

from collections.abc import Callable

from ..reports.doctor import TITLES, CheckId, CheckReport
from . import conversing, leftovers, timing
from .findings import Findings, Trouble
from .verdict import NotChecked, Passed, Verdict


def judge(findings: Findings) -> tuple[CheckReport, ...]:
    """Every check's verdict, in order. A conversation's trouble counts against its one check."""
    troubles: dict[CheckId, Trouble] = {}
    for conversation in findings.conversations:
        if conversation.trouble is not None:
            troubles.setdefault(conversation.trouble.check, conversation.trouble)
    return tuple(
        _report(check, troubles.get(check) or _JUDGES[check](findings)) for check in TITLES
    )


def _report(check: CheckId, verdict: Verdict) -> CheckReport:
    title = TITLES[check]
    match verdict:
        case Passed(seen, mend):
            return CheckReport(check, title, "pass", seen, mend)
        case Trouble(seen=seen, mend=mend):
            return CheckReport(check, title, "fail", seen, mend or None)
        case NotChecked(None):
            return CheckReport(check, title, "not-checked", "The examination was cut short.")
        case NotChecked(because):
            seen = f"This can't be seen while `{because}` fails."
            return CheckReport(check, title, "not-checked", seen, because=because)


_JUDGES: dict[CheckId, Callable[[Findings], Verdict]] = {
    "starts": conversing.starts,
    "initialize": conversing.initialize,
    "stdout": conversing.after_answers(
        lambda count: f"{count} answers, each on a line of its own, and nothing else."
    ),
    "flush": conversing.after_answers(
        lambda count: f"{count} answers came while its input was open."
    ),
    "ids": conversing.after_answers(lambda count: f"{count} answers bear the id of their request."),
    "reset": conversing.reset,
    "step": conversing.step,
    "clean-start": leftovers.clean_start,
    "leaves": leftovers.leaves,
    "processes": leftovers.processes,
    "time": timing.time_limits,
}

"""The checks of what stays: after `reset`, after the end, and beside the process."""

from retryproof_protocol.messages import Observation
from retryproof_protocol.quoting import escape_controls

from ..reports.text import describe_observation, describe_operation
from .findings import PROBE, ROUNDS, Findings, Leaving, Trouble
from .verdict import NotChecked, Passed, Verdict, not_checked

_SHOWN_STRAYS = 5


def clean_start(findings: Findings) -> Verdict:
    """The same case has the same answers after each `reset`, and in each process."""
    in_one, in_fresh_ones = findings.rounds
    repetitions = [("after another `reset` in the same process", again) for again in in_one[1:]]
    repetitions += [("in a fresh process", again) for again in in_fresh_ones]
    for place, again in repetitions:
        if (difference := _difference(in_one[0], again)) is not None:
            return _leaked(place, difference)
    if len(in_one) < ROUNDS or not in_fresh_ones:
        return not_checked(findings)
    return Passed("The same case had the same answers twice in one process and in a fresh one.")


def _difference(
    once: tuple[Observation, ...], again: tuple[Observation, ...]
) -> tuple[int, Observation, Observation] | None:
    pairs = zip(once, again, strict=True)
    return next(((i, a, b) for i, (a, b) in enumerate(pairs) if a != b), None)


def _leaked(place: str, difference: tuple[int, Observation, Observation]) -> Trouble:
    index, once, again = difference
    seen = (
        f"The same case was answered otherwise {place}: operation {index + 1} "
        f"({describe_operation(PROBE[index])}) first {describe_observation(once).plain}, then "
        f"{describe_observation(again).plain}."
    )
    if (once.status, once.committed_writes) == (again.status, again.committed_writes):
        return Trouble(
            "clean-start",
            seen,
            "Give receipts as ordinals of the writes since `reset`: 1 for the first, 2 for the "
            "second. They must not be the service's own ids.",
        )
    return Trouble(
        "clean-start",
        seen,
        "Something outlives `reset`: keys, the records of the writes, their count, the clock. "
        "Empty all of it there, also what a database, a file or a cache keeps from process to "
        "process.",
    )


def leaves(findings: Findings) -> Verdict:
    """The process ends by itself, in time and with status 0, on both occasions."""
    leavings = _leavings(findings)
    troubles = [trouble for leaving in leavings if (trouble := _bad_leaving(leaving)) is not None]
    if troubles:
        seen = " ".join(trouble.seen for trouble in troubles)
        return Trouble("leaves", seen, troubles[0].mend)
    if {leaving.occasion for leaving in leavings} != {"shutdown", "end-of-input"}:
        return not_checked(findings)
    times = (f"{leaving.seconds:.2f} s after {_named(leaving)}" for leaving in leavings)
    return Passed(f"It was gone {' and '.join(times)}, with status 0.")


def _bad_leaving(leaving: Leaving) -> Trouble | None:
    occasion = _named(leaving)
    if leaving.left and leaving.status == 0:
        return None
    if leaving.left:
        seen = f"After {occasion} it {leaving.exit}."
        return Trouble("leaves", seen, "Let the process end with status 0 when it is told to.")
    seen = f"It was still there {leaving.seconds:.1f} s after {occasion}"
    if leaving.left_late:
        return Trouble(
            "leaves",
            f"{seen}, and left only once its input was closed.",
            "Answer `shutdown`, then end the process without waiting for more input.",
        )
    advice = (
        "End the process when a read from stdin gives the end of file"
        if leaving.occasion == "end-of-input"
        else "End the process after the answer to `shutdown`"
    )
    return Trouble(
        "leaves",
        f"{seen}, and had to be killed.",
        f"{advice}, and close what keeps it running: timers, servers, threads.",
    )


def _named(leaving: Leaving) -> str:
    return "`shutdown`" if leaving.occasion == "shutdown" else "the end of its input"


def _leavings(findings: Findings) -> list[Leaving]:
    leavings = (conversation.leaving for conversation in findings.conversations)
    return [leaving for leaving in leavings if leaving is not None]


def processes(findings: Findings) -> Verdict:
    """No other process is there when the first one has left by itself."""
    left = [leaving for leaving in _leavings(findings) if leaving.left]
    for leaving in left:
        if leaving.strays:
            return Trouble(
                "processes",
                f"After {_named(leaving)} it left processes behind, which had to be killed: "
                f"{_listed(leaving.stray_commands)}.",
                "Stop and await what the adapter starts, before it leaves. If the command is a "
                "wrapper (a shell script, npm), let it exec the adapter or wait for it.",
            )
    if len(findings.rounds[0]) < ROUNDS:
        return not_checked(findings)
    if not left:
        return NotChecked("leaves") if _leavings(findings) else not_checked(findings)
    return Passed("Nothing of it was left.")


def _listed(commands: tuple[str, ...]) -> str:
    shown = [escape_controls(command) for command in dict.fromkeys(commands)]
    return ", ".join(shown[:_SHOWN_STRAYS]) + (", ..." if len(shown) > _SHOWN_STRAYS else "")

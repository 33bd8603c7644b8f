"""Which known fault an implementation of the decision resembles, for people."""

from collections.abc import Sequence

from msgspec import Struct
from retryproof_protocol.quoting import escape_controls

from .faults import FAULTS, decide_with
from .matrix import REFUSED, Answered, Case
from .reading import read_request
from .request import Request

_SHOWN_CASES = 5
_SHOWN_REFUSAL_CHARACTERS = 200


class ObservedCase(Struct, frozen=True):
    """A case that was answered; `refusal` is the message of its error, if it was one."""

    case: Case
    actual: Answered
    refusal: str | None = None

    @property
    def differs(self) -> bool:
        """Whether the answer is not the contract's."""
        return self.actual != self.case.expected

    @property
    def is_unsafe(self) -> bool:
        """Whether it lets through what the contract holds back."""
        return self.actual.status == "pass" and self.case.expected.status != "pass"


def faulty_answer(fault: str, case: Case) -> Answered:
    """What an implementation with the named fault answers; a malformed input is refused by all."""
    request = read_request(case.input)
    return Answered(*decide_with(fault, request)) if isinstance(request, Request) else REFUSED


def resembling_faults(observed: ObservedCase) -> tuple[str, ...]:
    """The named faults that answer this case as it was answered, unless that was right."""
    if not observed.differs:
        return ()
    return tuple(name for name in FAULTS if _explains(name, observed))


def diagnose(observed: Sequence[ObservedCase], planned: int) -> tuple[str | None, str]:
    """The one fault that explains every answer, if any, and the finding in sentences.

    Of `planned` cases in the whole matrix, some may not have been answered.
    """
    if not observed:
        return None, "Nothing was observed."
    if not any(case.differs for case in observed):
        return None, "Nothing that was observed differs from the contract."
    fault, explanation = _explain(observed)
    return fault, explanation + _caution(len(observed), planned)


def _explain(observed: Sequence[ObservedCase]) -> tuple[str | None, str]:
    if all(case.actual == REFUSED for case in observed):
        return None, _describe_refusals(observed)
    fitting = [name for name in FAULTS if all(_explains(name, case) for case in observed)]
    if len(fitting) == 1:
        return fitting[0], FAULTS[fitting[0]].explanation
    if fitting:
        return None, f"What was observed fits {', '.join(fitting[:-1])} and {fitting[-1]} alike."
    return None, _list_differences(observed)


def _describe_refusals(observed: Sequence[ObservedCase]) -> str:
    refusal = next(case.refusal for case in observed if case.differs) or "nothing"
    shown = escape_controls(refusal[:_SHOWN_REFUSAL_CHARACTERS])
    return (
        "Every input was refused, the valid ones as well. The first refusal of those says: "
        f"{shown}. Does the adapter serve `evaluate`?"
    )


def _list_differences(observed: Sequence[ObservedCase]) -> str:
    differing = [case for case in observed if case.differs]
    unsafe = [case for case in differing if case.is_unsafe]
    finding = (
        f"{len(differing)} of {len(observed)} answers are not the contract's; no single named "
        "fault explains them."
    )
    if not unsafe:
        return f"{finding} None of them lets through what the contract holds back."
    return (
        f"{finding} {len(unsafe)} of them let through what the contract holds back: "
        f"{_list_names(unsafe)}."
    )


def _list_names(cases: Sequence[ObservedCase]) -> str:
    names = [case.case.name for case in cases[:_SHOWN_CASES]]
    if len(cases) > _SHOWN_CASES:
        names.append(f"and {len(cases) - _SHOWN_CASES} more")
    return ", ".join(names)


def _caution(answered: int, planned: int) -> str:
    if answered == planned:
        return ""
    return f" Only {answered} of the {planned} cases were answered: the others may say more."


def _explains(fault: str, observed: ObservedCase) -> bool:
    return faulty_answer(fault, observed.case) == observed.actual

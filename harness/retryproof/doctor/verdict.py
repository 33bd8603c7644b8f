"""What a check can come to, besides the trouble that makes it fail."""

from typing import TypeAlias

from msgspec import Struct

from ..reports.doctor import CheckId
from .findings import Findings, Trouble


class Passed(Struct, frozen=True):
    """The check was made, and holds. `mend`: what to do where it does so narrowly."""

    seen: str
    mend: str | None = None


class NotChecked(Struct, frozen=True):
    """The check could not be made, because of another's failure if one is named."""

    because: CheckId | None = None


Verdict: TypeAlias = Passed | Trouble | NotChecked


def not_checked(findings: Findings) -> NotChecked:
    """The verdict of a check for which the conversation did not last."""
    trouble = findings.first_trouble
    return NotChecked(None if trouble is None else trouble.check)

"""The report of the suite retryfuse: schema retryproof.fuse-report/1, its JSON form as it is."""

from typing import Literal

from msgspec import Struct

from ..events import Failure
from ..fuse.matrix import Answered, Category
from .report import CaseVerdict, Counts, RunReport


class FuseCaseReport(Struct, frozen=True, rename="camel"):
    """One planned case; `actual` is null if no usable answer came.

    `about`, `why` and `advice` are the contract's words for the case: what its input says, why
    that leads to the expected answer, and what a client must do. `refusal` is the message of the
    error with which the input was refused.
    """

    name: str
    category: Category
    verdict: CaseVerdict
    about: str
    expected: Answered
    actual: Answered | None
    refusal: str | None
    why: str
    advice: str
    elapsed_ms: float | None
    failure: Failure | None
    resembles: tuple[str, ...]


class CategoryReport(Struct, frozen=True):
    """The cases of one category, counted."""

    name: Category
    counts: Counts


class Unsent(Struct, frozen=True):
    """The cases of the matrix that the protocol cannot carry, and why."""

    cases: tuple[str, ...]
    reason: str


class FuseReport(RunReport[FuseCaseReport], frozen=True, rename="camel"):
    """Everything that a run of this suite found out."""

    schema: Literal["retryproof.fuse-report/1"]
    categories: tuple[CategoryReport, ...]
    unsent: Unsent

"""Folds the events of a run of the suite retryfuse into its report."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..contract.diagnosis import Diagnosis
from ..events import CallReturned, Evaluated
from ..fuse.account import explain
from ..fuse.diagnosis import ObservedCase, diagnose, resembling_faults
from ..fuse.matrix import CATEGORIES, NOT_COVERED, NOT_JSON, Case, Matrix
from .fuse_report import CategoryReport, FuseCaseReport, FuseReport, Unsent
from .parts import count, rounded
from .run_log import CaseLog, RunLog

_Log: TypeAlias = CaseLog[Case, Evaluated]


class FuseSummary(RunLog[Case, Evaluated]):
    """A sink that remembers what the report needs. Ask for the report when the run has ended."""

    def __init__(self, matrix: Matrix) -> None:
        super().__init__()
        self._matrix = matrix

    def answer_in(self, event: CallReturned) -> Evaluated | None:
        """The decision, or the refusal."""
        return event.evaluation

    def report(self) -> FuseReport:
        """The report of the run.

        Raises:
            ValueError: the run has not started or not ended.
        """
        cases = tuple(_report_case(log) for log in self.logs.values())
        observed = [found for log in self.logs.values() if (found := _observed(log)) is not None]
        return self.complete(
            FuseReport,
            count(case.verdict for case in cases),
            schema="retryproof.fuse-report/1",
            not_covered=NOT_COVERED,
            cases=cases,
            diagnosis=Diagnosis(*diagnose(observed, len(self._matrix.cases))),
            categories=tuple(_by_category(cases)),
            unsent=Unsent(self._matrix.unsendable, NOT_JSON),
        )


def _observed(log: _Log) -> ObservedCase | None:
    if not log.answers:
        return None
    (evaluated, _), *_ = log.answers
    return ObservedCase(log.case, evaluated.answer, evaluated.refusal)


def _report_case(log: _Log) -> FuseCaseReport:
    observed, account = _observed(log), explain(log.case)
    return FuseCaseReport(
        name=log.case.name,
        category=log.case.category,
        verdict=log.verdict(1, differs=observed is not None and observed.differs),
        about=account.about,
        expected=log.case.expected,
        actual=None if observed is None else observed.actual,
        refusal=None if observed is None else observed.refusal,
        why=account.why,
        advice=account.advice,
        elapsed_ms=rounded(log.answers[0][1]) if log.answers else None,
        failure=log.failure,
        resembles=() if observed is None else resembling_faults(observed),
    )


def _by_category(cases: Sequence[FuseCaseReport]) -> Iterator[CategoryReport]:
    for category in CATEGORIES:
        verdicts = [case.verdict for case in cases if case.category == category]
        if verdicts:
            yield CategoryReport(category, count(verdicts))

"""Folds the events of a run into its report."""

from collections.abc import Iterable
from typing import TypeAlias

from retryproof_protocol.messages import Observation

from ..contract.bundle import Bundle, Case
from ..contract.diagnosis import ObservedCase, diagnose, resembling_faults
from ..contract.differences import classify, differences
from ..contract.profile import as_expected
from ..events import CallReturned
from .parts import count, rounded
from .report import CaseReport, Report, StepReport
from .run_log import CaseLog, RunLog

_Log: TypeAlias = CaseLog[Case, Observation]


class Summary(RunLog[Case, Observation]):
    """A sink that remembers what the report needs. Ask for the report when the run has ended."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__()
        self._bundle = bundle

    def answer_in(self, event: CallReturned) -> Observation | None:
        """What a step was answered."""
        return event.observation

    def report(self) -> Report:
        """The report of the run.

        Raises:
            ValueError: the run has not started or not ended.
        """
        cases = tuple(self._report_case(log) for log in self.logs.values())
        return self.complete(
            Report,
            count(case.verdict for case in cases),
            schema="retryproof.report/1",
            not_covered=self._bundle.not_covered,
            cases=cases,
            diagnosis=diagnose(self._bundle, [self._observed(log) for log in self.logs.values()]),
        )

    def _observed(self, log: _Log) -> ObservedCase:
        """The case as it is compared: each code that the profile accepts is the expected one."""
        observations = tuple(observation for observation, _ in log.answers)
        return ObservedCase(log.case, as_expected(self.profile, log.case, observations))

    def _report_case(self, log: _Log) -> CaseReport:
        observed = self._observed(log)
        steps = tuple(_report_steps(log, observed))
        return CaseReport(
            name=log.case.name,
            title=log.case.title,
            promise=log.case.promise,
            verdict=log.verdict(len(steps), differs=any(step.differences for step in steps)),
            steps=steps,
            failure=log.failure,
            resembles=resembling_faults(observed, self._bundle.rules),
        )


def _report_steps(log: _Log, observed: ObservedCase) -> Iterable[StepReport]:
    for index, (operation, expected) in enumerate(
        zip(log.case.steps, log.case.expected, strict=True)
    ):
        if index >= len(log.answers):
            yield StepReport(operation, expected, None, (), None, None)
            continue
        actual, elapsed_ms = log.answers[index]
        found = differences(expected, observed.observations[index])
        yield StepReport(operation, expected, actual, found, classify(found), rounded(elapsed_ms))

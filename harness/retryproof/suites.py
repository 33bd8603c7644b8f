"""The suites: each has a contract, its cases as scripts for a run, and a log to report from."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from retryproof_protocol.messages import ContractReference
from rich.console import RenderableType

from .contract.bundle import Bundle, Case
from .contract.profile import SEED, Profile, profiled
from .errors import InvalidArgumentsError
from .events import Event
from .fuse.matrix import CONTRACT as FUSE_CONTRACT
from .fuse.matrix import Case as FuseCase
from .fuse.matrix import Matrix
from .reports.fuse_report import FuseReport
from .reports.fuse_suite_text import render_fuse_report
from .reports.fuse_summary import FuseSummary
from .reports.report import Report, RunReport
from .reports.summary import Summary
from .reports.text import render_report
from .runner.fuse_script import FuseScript
from .runner.retry_script import RetryScript

_FEW_CASES = 20
"""More are not listed to somebody who has misspelt one."""

_AnyReport = TypeVar("_AnyReport", bound=RunReport[Any], covariant=True)


class Suite(Protocol[_AnyReport]):
    """What an adapter can be driven through."""

    @property
    def contract(self) -> ContractReference:
        """Which contract is tested."""

    @property
    def digest(self) -> str:
        """Of all that belongs to the contract."""

    @property
    def case_type(self) -> type[Any]:
        """What the suite's cases are, to read them from a record."""

    def scripts(
        self, names: Sequence[str], profile: Profile
    ) -> Mapping[str, RetryScript | FuseScript]:
        """The named cases in the contract's order, or all of them, in the declared dialect.

        Raises:
            InvalidArgumentsError: there is no case of such a name, or no such dialect of it.
        """

    def new_log(self) -> "ReportingLog[_AnyReport]":
        """A sink that a run's report can be had from."""

    def render(self, report: Any, repeat_command: Callable[[str], str]) -> Iterator[RenderableType]:
        """The report for people; `repeat_command` gives the command that runs a case again."""


class ReportingLog(Protocol[_AnyReport]):
    """Takes a run's events, and folds them into its report."""

    def __call__(self, event: Event) -> None:
        """Takes the next event."""

    def report(self) -> _AnyReport:
        """The report of the run.

        Raises:
            ValueError: the run has not started or not ended.
        """


class RetrySuite:
    """The retry contract."""

    case_type = Case

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self.contract = bundle.reference
        self.digest = bundle.digest

    def scripts(self, names: Sequence[str], profile: Profile) -> Mapping[str, RetryScript]:  # noqa: D102
        cases = choose_cases(profiled(self._bundle, profile).cases, names)
        return {name: RetryScript(case) for name, case in cases.items()}

    def new_log(self) -> ReportingLog[Report]:  # noqa: D102
        return Summary(self._bundle)

    def render(  # noqa: D102
        self, report: Report, repeat_command: Callable[[str], str]
    ) -> Iterator[RenderableType]:
        return render_report(report, self._bundle, repeat_command)


class FuseSuite:
    """The decision whether to retry: the cases of the matrix that can be sent."""

    contract = FUSE_CONTRACT
    case_type = FuseCase

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self.digest = matrix.digest

    def scripts(self, names: Sequence[str], profile: Profile) -> Mapping[str, FuseScript]:  # noqa: D102
        if profile != SEED:
            raise InvalidArgumentsError("A profile is for the suite retry.")
        self._refuse_unsendable(names)
        cases = choose_cases(self._matrix.cases, names)
        return {name: FuseScript(case) for name, case in cases.items()}

    def new_log(self) -> ReportingLog[FuseReport]:  # noqa: D102
        return FuseSummary(self._matrix)

    def render(  # noqa: D102
        self, report: FuseReport, repeat_command: Callable[[str], str]
    ) -> Iterator[RenderableType]:
        return render_fuse_report(report, repeat_command)

    def _refuse_unsendable(self, names: Sequence[str]) -> None:
        unsendable = [name for name in names if name in self._matrix.unsendable]
        if unsendable:
            raise InvalidArgumentsError(
                f"The case {unsendable[0]} can't be sent: it is text or bytes that are no JSON.",
                "`retryproof fuse` reads it from a file.",
            )


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_AnyCase = TypeVar("_AnyCase", bound=_Named)


def choose_cases(cases: Iterable[_AnyCase], names: Sequence[str]) -> dict[str, _AnyCase]:
    """The named cases in the contract's order, or all of them.

    Raises:
        InvalidArgumentsError: the contract has no case of such a name.
    """
    known = {case.name: case for case in cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known) if len(known) > _FEW_CASES else known
        raise InvalidArgumentsError(
            f"The contract has no case {unknown[0]}.",
            f"It has {', '.join(near)}." if near else f"It has {len(known)} others.",
        )
    return {name: case for name, case in known.items() if not names or name in names}

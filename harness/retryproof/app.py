"""The composition root: puts the layers together for each thing that a user can ask for."""

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import anyio
from msgspec import Struct
from rich.console import RenderableType

from . import __version__, resources
from .api.submission import SuiteName
from .clock import RunClock
from .contract.bundle import Bundle, load_bundle
from .contract.model import FAULTS
from .contract.profile import SEED, Profile
from .description import describe_adapter, describe_limits, describe_platform, measure_load
from .doctor.examination import Examinee
from .doctor.examination import examine as examine_adapter
from .doctor.patient import Progress
from .doctor.report import make_report
from .errors import InvalidArgumentsError
from .events import Event, Evidence, RunEnded, RunStarted, Sink
from .fuse.matrix import Matrix, load_matrix
from .kits.catalogue import kits
from .kits.project import plan_for
from .kits.project import write as write_project
from .kits.report import list_languages, report_project
from .reports.doctor import DoctorReport
from .reports.projects import LanguagesReport, ProjectReport
from .reports.repeating import repeat_command
from .reports.report import Report, RunReport
from .reports.self_test import SelfTestReport, Trial, summarize
from .runner.conductor import Plan
from .runner.fuse_script import FuseScript
from .runner.retry_script import RetryScript
from .runner.suite import run_cases
from .suites import FuseSuite, RetrySuite, Suite
from .supervise.interruption import Work, run_to_the_end
from .supervise.launch import Launch, Surroundings, module, with_arguments
from .supervise.limits import Limits
from .supervise.session import WireSink

CONTRACT_FILE = "fixtures/contract.json"
MATRIX_FOLDER = "fixtures/retryfuse"
SEED_FILE = "fixtures/artifacts/retry-proof-seed.json"
_REFERENCES = {
    "python": "adapters/python/reference.py",
    "node": "adapters/node/reference.mjs",
}


def contract_bundle() -> Bundle:
    """The bundled contract."""
    return load_bundle(resources.read_bytes(CONTRACT_FILE))


def fuse_matrix() -> Matrix:
    """The bundled matrix of the contract retryfuse."""
    files = resources.path_of(MATRIX_FOLDER).glob("*/*.json")
    return load_matrix(file.read_bytes() for file in files)


@functools.cache
def suite_named(name: SuiteName) -> Suite[Any]:
    """The suite of this name; made when it is first asked for, and kept."""
    return RetrySuite(contract_bundle()) if name == "retry" else FuseSuite(fuse_matrix())


def render_by_itself(name: SuiteName, report: RunReport[Any]) -> Iterator[RenderableType]:
    """A report for people, by somebody who knows no more of the run than the report says."""
    repeat = partial(repeat_command, report, usual=describe_limits(Limits()))
    return suite_named(name).render(report, repeat)


Until: TypeAlias = Callable[[Work], Awaitable[str | None]]
"""Runs the work, or a part of it: the name of the signal that cut it short, or None."""


class RunRequest(Struct, frozen=True):
    """A run: the adapter, the cases by name (none: all of them), and its limits."""

    launch: Launch
    cases: tuple[str, ...] = ()
    limits: Limits = Limits()
    keep_going: bool = False
    evidence: Evidence = "adapter"
    profile: Profile = SEED


_AnyReport = TypeVar("_AnyReport", bound=RunReport[Any])


def drive(
    bundle: Bundle,
    request: RunRequest,
    sinks: Sequence[Sink] = (),
    on_wire: WireSink | None = None,
    until: Until = run_to_the_end,
) -> Report:
    """Drives the adapter through the cases. Each sink gets every event; `until` may cut it short.

    Raises:
        InvalidArgumentsError: the contract has no case of such a name.
    """
    return drive_suite(RetrySuite(bundle), request, sinks, on_wire, until)


def drive_suite(
    suite: Suite[_AnyReport],
    request: RunRequest,
    sinks: Sequence[Sink] = (),
    on_wire: WireSink | None = None,
    until: Until = run_to_the_end,
) -> _AnyReport:
    """`drive` for any suite. Raises as its `scripts`."""
    return anyio.run(drive_async, suite, request, sinks, on_wire, until)


def self_test(bundle: Bundle, until: Until = run_to_the_end) -> SelfTestReport:
    """Drives the reference and each fault under each bundled host, as real processes."""
    trials: list[Trial] = []
    skipped: list[str] = []
    surroundings = Surroundings(os.getcwd(), {})
    for host, adapter in _REFERENCES.items():
        python = sys.executable if host == "python" else None
        try:
            launch = module(str(resources.path_of(adapter)), surroundings, python)
        except InvalidArgumentsError as error:
            skipped.append(f"{host}: {error.message}")
            continue
        for fault in (None, *FAULTS):
            arguments = () if fault is None else ("--fault", fault)
            request = RunRequest(with_arguments(launch, arguments), evidence="self-test")
            trials.append(Trial(host, fault, drive(bundle, request, until=until)))
            if trials[-1].report.interrupted_by is not None:
                return summarize(bundle, trials, skipped)
    return summarize(bundle, trials, skipped)


def examine(
    bundle: Bundle,
    launch: Launch,
    limits: Limits,
    until: Until = run_to_the_end,
    tell: Progress | None = None,
    on_wire: WireSink | None = None,
) -> DoctorReport:
    """Finds out what is wrong with an adapter; `tell` hears what is waited for meanwhile."""
    examinee = Examinee(launch, bundle.reference, limits)
    findings, interrupted_by = anyio.run(
        examine_adapter, examinee, until, tell or (lambda _: None), on_wire
    )
    described = describe_adapter(launch)
    return make_report(findings, described, interrupted_by)


def languages() -> LanguagesReport:
    """The languages that there is an adapter kit for."""
    return list_languages(kits())


def begin_project(language: str, folder: str) -> ProjectReport:
    """Writes the files of a new adapter, or of the description of an HTTP service.

    Raises:
        InvalidArgumentsError: there is no kit for the language.
        FileError: a file is there already, or can't be written.
    """
    plan = plan_for(language)
    return report_project(plan, folder, write_project(plan, Path(folder)))


async def drive_async(
    suite: Suite[_AnyReport],
    request: RunRequest,
    sinks: Sequence[Sink] = (),
    on_wire: WireSink | None = None,
    until: Until = run_to_the_end,
) -> _AnyReport:
    """`drive` for any suite, in an event loop that is there already."""
    scripts = suite.scripts(request.cases, request.profile)
    log = suite.new_log()
    receivers: tuple[Sink, ...] = (log, *sinks)

    def emit(event: Event) -> None:
        for sink in receivers:
            sink(event)

    clock = RunClock()
    emit(_run_started(suite, scripts, request, clock))
    plan = Plan(suite.contract, request.launch.command, request.limits)
    interrupted_by = await until(
        partial(run_cases, plan, scripts, emit, clock, request.keep_going, on_wire)
    )
    emit(RunEnded(clock.elapsed(), measure_load(), interrupted_by))
    return log.report()


def _run_started(
    suite: Suite[Any],
    scripts: Mapping[str, RetryScript | FuseScript],
    request: RunRequest,
    clock: RunClock,
) -> RunStarted[Any]:
    return RunStarted(
        at=clock.elapsed(),
        started_at=clock.started_at,
        contract=suite.contract,
        contract_digest=suite.digest,
        cases=tuple(script.case for script in scripts.values()),
        adapter=describe_adapter(request.launch),
        limits=describe_limits(request.limits),
        load=measure_load(),
        evidence=request.evidence,
        retryproof=__version__,
        platform=describe_platform(),
        profile=request.profile,
    )

"""The composition root: puts the layers together for each thing that a user can ask for."""

import os
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import msgspec
from msgspec import Struct

from . import resources
from .clock import RunClock
from .contract.bundle import Bundle, Case, load_bundle
from .contract.model import FAULTS
from .doctor.examination import Examinee
from .doctor.examination import examine as examine_adapter
from .doctor.patient import Progress
from .doctor.report import make_report
from .errors import InvalidArgumentsError
from .events import (
    AdapterDescription,
    Event,
    LimitsDescription,
    Load,
    RunEnded,
    RunStarted,
    SandboxDescription,
    Sink,
)
from .kits.catalogue import kits
from .kits.project import plan_for
from .kits.project import write as write_project
from .kits.report import list_languages, report_project
from .reports.doctor import DoctorReport
from .reports.projects import LanguagesReport, ProjectReport
from .reports.report import Evidence, Report
from .reports.self_test import SelfTestReport, Trial, summarize
from .reports.summary import Summary
from .runner.conductor import Plan
from .runner.suite import run_cases
from .supervise.interruption import Work, run_to_the_end
from .supervise.launch import Launch, Sandbox, Surroundings, module, with_arguments
from .supervise.limits import Limits
from .supervise.session import WireSink

CONTRACT_FILE = "fixtures/contract.json"
SEED_FILE = "fixtures/artifacts/retry-proof-seed.json"
_REFERENCES = {
    "python": "adapters/python/reference.py",
    "node": "adapters/node/reference.mjs",
}


def contract_bundle() -> Bundle:
    """The bundled contract."""
    return load_bundle(resources.read_bytes(CONTRACT_FILE))


Until: TypeAlias = Callable[[Work], Awaitable[str | None]]
"""Runs the work, or a part of it: the name of the signal that cut it short, or None."""


class RunRequest(Struct, frozen=True):
    """A run: the adapter, the cases by name (none: all of them), and its limits."""

    launch: Launch
    cases: tuple[str, ...] = ()
    limits: Limits = Limits()
    keep_going: bool = False
    evidence: Evidence = "adapter"


def choose_cases(bundle: Bundle, names: Sequence[str]) -> dict[str, Case]:
    """The named cases in the contract's order, or all of them.

    Raises:
        InvalidArgumentsError: the contract has no case of such a name.
    """
    known = {case.name: case for case in bundle.cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidArgumentsError(
            f"The contract has no case {unknown[0]}.", f"It has {', '.join(known)}."
        )
    return {name: case for name, case in known.items() if not names or name in names}


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
    return anyio.run(drive_async, bundle, request, sinks, on_wire, until)


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
    described = _describe_adapter(launch)
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
    bundle: Bundle,
    request: RunRequest,
    sinks: Sequence[Sink] = (),
    on_wire: WireSink | None = None,
    until: Until = run_to_the_end,
) -> Report:
    """`drive`, in an event loop that is there already."""
    cases = choose_cases(bundle, request.cases)
    summary = Summary(bundle, request.evidence, _describe_platform())
    every_sink: list[Sink] = [summary, *sinks]

    def emit(event: Event) -> None:
        for sink in every_sink:
            sink(event)

    clock = RunClock()
    emit(_run_started(bundle, request, cases, clock))
    plan = Plan(bundle.reference, request.launch.command, request.limits)
    interrupted_by = await until(
        partial(run_cases, plan, cases, emit, clock, request.keep_going, on_wire)
    )
    emit(RunEnded(clock.elapsed(), _measure_load(), interrupted_by))
    return summary.report()


def _run_started(
    bundle: Bundle, request: RunRequest, cases: dict[str, Case], clock: RunClock
) -> RunStarted:
    launch = request.launch
    return RunStarted(
        at=clock.elapsed(),
        started_at=clock.started_at,
        contract=bundle.reference,
        contract_digest=bundle.digest,
        cases=tuple(cases.values()),
        adapter=_describe_adapter(launch),
        limits=msgspec.convert(request.limits, LimitsDescription, from_attributes=True),
        load=_measure_load(),
    )


def _describe_adapter(launch: Launch) -> AdapterDescription:
    return AdapterDescription(
        command=tuple(map(_as_text, launch.shown_argv)),
        host=launch.host,
        cwd=_as_text(launch.command.cwd),
        added_environment=launch.added_environment,
        sandbox=_describe_sandbox(launch.sandbox),
    )


def _describe_sandbox(sandbox: Sandbox | None) -> SandboxDescription | None:
    if sandbox is None:
        return None
    return SandboxDescription(sandbox.allow_network, tuple(map(_as_text, sandbox.writable)))


def _measure_load() -> Load:
    return Load(round(os.getloadavg()[0], 2), os.cpu_count() or 1)


def _as_text(argument: str) -> str:
    """An argument of a command line, whose bytes need not be text, as text."""
    return os.fsencode(argument).decode("utf-8", "backslashreplace")


def _describe_platform() -> dict[str, str]:
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }

"""The command that repeats a case: read by the command line, it is the run of the report."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from retryproof.cli.chosen_adapter import kept_options, launch_of, limits_of
from retryproof.cli.run import Options, run
from retryproof.contract.profile import PROFILES
from retryproof.description import describe_adapter, describe_limits
from retryproof.reports.repeating import repeat_command
from retryproof.reports.report import Report, ReportedAdapter, ReportedContract
from retryproof.supervise.launch import (
    Launch,
    Sandbox,
    Surroundings,
    http_service,
    module,
    program,
)
from retryproof.supervise.limits import Limits

from tests.http_adapter.running import WHOLE_FILE
from tests.reports.runs import ScriptedRun
from tests.strategies import repeatable
from tests.toolchains import needs_node

MIB = 1024 * 1024
USUAL = describe_limits(Limits())
SOME_REPORT = ScriptedRun().report


def report_of(
    launch: Launch, limits: Limits | None = None, profile: str = "seed", contract: str = ""
) -> Report:
    """A report of a run with these."""
    report = SOME_REPORT()
    described = describe_adapter(launch)
    named = contract or report.contract.name
    return replace(
        report,
        adapter=ReportedAdapter(**asdict(described)),
        limits=describe_limits(limits or Limits()),
        profile=profile,
        contract=ReportedContract(named, 1, report.contract.digest),
    )


@contextmanager
def parsed(command: str) -> Iterator[Options]:
    """The options of `retryproof run` that a shell would hand over."""
    program_name, name, *arguments = shlex.split(command)
    assert (program_name, name) == ("retryproof", "run")
    with patch.object(sys, "argv", shlex.split(command)), run.make_context(name, arguments) as line:
        yield Options(**line.params)


def assert_round_trip(report: Report, case: str = "a-case") -> None:
    with parsed(repeat_command(report, case, USUAL)) as options:
        assert options.case == (case,)
        described = describe_adapter(launch_of(options))
        assert ReportedAdapter(**asdict(described)) == report.adapter
        assert describe_limits(limits_of(options)) == report.limits
        assert options.profile.name == report.profile
        assert options.suite == ("retryfuse" if report.contract.name == "retryfuse" else "retry")


arguments = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=6
)
some_limits = st.builds(
    Limits,
    startup_seconds=st.floats(0, 3600, exclude_min=True),
    call_seconds=st.sampled_from([2.0, 0.25, 1234.5678, 0.1234567]) | st.floats(1e-9, 3600),
    memory_bytes=st.integers(1, 2**23).map(lambda size: size * MIB),
    processes=st.integers(1, 2**31),
    output_bytes=st.integers(1, 2**23).map(lambda size: size * MIB),
    open_files=st.integers(8, 2**31),
)


@repeatable(200)
@given(st.lists(arguments, min_size=2, max_size=5), some_limits)
@example(["sh", "--", "-c", "--json"], Limits())
@example(["./a b", "$HOME", '"', "'", "\n"], Limits(call_seconds=0.1234567))
@example(["sh", "x"], Limits(processes=1234567, memory_bytes=12345678 * MIB))
def test_a_program(argv: list[str], limits: Limits) -> None:
    assert_round_trip(report_of(program(tuple(argv), Surroundings("/", {})), limits))


def test_a_python_module(tmp_path: Path) -> None:
    file = tmp_path / "my adapter.py"
    file.touch()
    for folder in ("/", str(tmp_path)):
        launch = module(str(file), Surroundings(folder, {}), sys.executable)
        assert_round_trip(report_of(launch))


@needs_node
@pytest.mark.parametrize("ending", [".mjs", ".js", ".cjs"])
def test_a_javascript_module(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"adapter{ending}"
    file.touch()
    assert_round_trip(report_of(module(str(file), Surroundings("/", {}))))


def test_an_http_service(tmp_path: Path) -> None:
    file = tmp_path / "my service.toml"
    file.write_text(WHOLE_FILE.format(port=1))
    assert_round_trip(report_of(http_service(str(file), {})))


@pytest.mark.parametrize("allow_network", [True, False])
def test_a_sandbox(tmp_path: Path, allow_network: bool) -> None:
    for writable in ((), (str(tmp_path), "/tmp")):
        launch = program(("sh", "x"), Surroundings("/", {}))
        launch = replace(launch, sandbox=Sandbox(allow_network, writable))
        with parsed(repeat_command(report_of(launch), "a-case", USUAL)) as options:
            assert options.sandbox == "bwrap"
            assert (options.allow_network, options.writable) == (allow_network, writable)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_known_profile(profile: str) -> None:
    assert_round_trip(report_of(program(("sh", "x"), Surroundings("/", {})), profile=profile))


def test_the_other_suite() -> None:
    launch = program(("sh", "x"), Surroundings("/", {}))
    assert_round_trip(report_of(launch, contract="retryfuse"))


def test_what_a_report_does_not_have_is_to_be_filled_in() -> None:
    launch = program(("sh", "x"), Surroundings("/", {"TOKEN": "secret", "A": "secret"}))
    command = repeat_command(report_of(launch, profile="my own"), "a-case", USUAL)
    assert command == (
        "retryproof run --profile '...my own' --case a-case --env A=... --env TOKEN=... "
        "--cwd / -- sh x"
    )


def test_what_is_usual_is_left_out() -> None:
    launch = program(("sh", "x"), Surroundings("/", {}))
    expected = "retryproof run --case a-case --cwd / -- sh x"
    assert repeat_command(report_of(launch), "a-case", USUAL) == expected


@pytest.mark.parametrize(("size", "shown"), [(1, "1"), (MIB + 1, "2"), (3 * MIB, "3")])
def test_bytes_are_rounded_up_to_what_the_option_takes(size: int, shown: str) -> None:
    launch = program(("sh", "x"), Surroundings("/", {}))
    limits = Limits(memory_bytes=size, output_bytes=size)
    command = repeat_command(report_of(launch, limits), "a-case", USUAL)
    assert f"--max-memory {shown} --max-output {shown} " in command


@repeatable(100)
@given(some_limits)
def test_what_run_itself_says_means_the_same_limits(limits: Limits) -> None:
    launch = program(("sh", "x"), Surroundings("/", {}))
    with parsed(repeat_command(report_of(launch, limits), "a-case", USUAL)) as options:
        kept = shlex.join(["retryproof", "run", *kept_options(options)])
    with parsed(kept) as options:
        assert limits_of(options) == limits

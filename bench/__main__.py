"""Everything that `make bench` measures, each beside its yardstick in the same run."""

import tempfile
from pathlib import Path

from . import calls, daemon, deadlines, fuse, startup

MAX_RATIO_WITH_C = 1.5
MAX_RATIO_OF_FUSE = 4
MAX_RATIO_OF_DAEMON = 1.05


def main() -> None:
    """Prints a section a measurement."""
    with tempfile.TemporaryDirectory() as folder:
        c_adapter = calls.compile_c_adapter(Path(folder))
        adapters = {"C adapter": c_adapter, "Python adapter": calls.python_adapter()}
        for title, argv in adapters.items():
            report_calls(title, argv)
        for title, argv in adapters.items():
            report_startup(title, argv)
        for title, argv in adapters.items():
            report_throughput(title, argv)
    print(f"start: the interpreter alone {startup.interpreter_ms():.1f} ms")
    report_daemon(calls.python_adapter())
    report_fuse()
    report_all_deadlines("idle")
    with deadlines.busy_processors():
        report_all_deadlines("all processors busy")


def report_calls(title: str, argv: tuple[str, ...]) -> None:
    """A call of a raw blocking pipe loop, of the runner, and their ratio."""
    measured = calls.measure(argv)
    ratio = measured.runner_us / measured.raw_us
    limit = f" (limit {MAX_RATIO_WITH_C})" if title.startswith("C") else ""
    print(
        f"call, {title}: raw pipe loop {measured.raw_us:.1f} us, runner "
        f"{measured.runner_us:.1f} us, ratio {ratio:.2f}{limit}"
    )
    if measured.sandboxed_us is not None:
        print(f"call, {title}: runner, adapter in the sandbox {measured.sandboxed_us:.1f} us")


def report_startup(title: str, argv: tuple[str, ...]) -> None:
    """Launch to the first answer."""
    measured = startup.measure(argv)
    print(
        f"start, {title}: to the first answer {measured.bare_ms:.1f} ms bare, "
        f"{measured.guarded_ms:.1f} ms under a running guard, "
        f"{measured.with_new_guard_ms:.1f} ms with a new one"
    )
    if measured.sandboxed_ms is not None:
        print(f"start, {title}: in the sandbox {measured.sandboxed_ms:.1f} ms")


def report_throughput(title: str, argv: tuple[str, ...]) -> None:
    """Runs through the daemon, one at a time."""
    measured = daemon.measure_throughput(argv)
    print(
        f"daemon, {title}: {measured.through_daemon:.1f} runs a second, made directly "
        f"{measured.direct:.1f}, ratio {measured.direct / measured.through_daemon:.2f} "
        f"(limit {MAX_RATIO_OF_DAEMON})"
    )


def report_daemon(argv: tuple[str, ...]) -> None:
    """What its followers get, and what a long history costs."""
    neighbour = daemon.measure_neighbour()
    passed = neighbour.verdicts.count("pass")
    print(
        f"daemon, beside adapters that spin: {passed} of {len(neighbour.verdicts)} runs of the "
        f"reference pass; a call takes {neighbour.beside_p99_ms:.2f} ms (p99 of the worst run), "
        f"{neighbour.alone_p99_ms:.2f} ms without them"
    )
    print(f"daemon: {daemon.measure_follower(argv):,.0f} events a second to a follower")
    for stored in daemon.measure_stored(argv):
        print(
            f"daemon, {stored.runs:,} runs stored: ready after {stored.start_ms:.0f} ms, "
            f"{stored.memory_mib:.0f} MiB, first page of runs {stored.page_ms:.1f} ms, "
            f"with the command {stored.command_ms:.0f} ms"
        )


def report_fuse() -> None:
    """Decisions in bulk."""
    bulk = fuse.measure()
    print(
        f"retryfuse --jsonl, {fuse.INPUTS:,} inputs: {bulk.deciding_per_second:,.0f} a second; "
        f"only parsed and encoded {bulk.parsing_per_second:,.0f} a second, ratio "
        f"{bulk.parsing_per_second / bulk.deciding_per_second:.2f} (limit {MAX_RATIO_OF_FUSE})"
    )
    print(
        f"retryfuse --jsonl, peak memory: {bulk.few_peak_mib:.1f} MiB for "
        f"{fuse.INPUTS // 20:,} inputs, {bulk.many_peak_mib:.1f} MiB for {fuse.INPUTS:,}"
    )


def report_all_deadlines(title: str) -> None:
    """The cut of a spinning adapter with twenty children, and of the zoo's silences."""
    spinning = deadlines.measure([deadlines.SPINNING_WITH_CHILDREN], deadlines.TRIALS)
    report_deadlines(f"spinning, 20 children, {title}", spinning)
    zoo = deadlines.zoo_timeouts()
    report_deadlines(f"{len(zoo)} of the zoo, {title}", deadlines.measure(zoo, 3 * len(zoo)))


def report_deadlines(title: str, measured: deadlines.Deadlines) -> None:
    """Past the deadline, and from then until nothing of the adapter is left."""
    for what, spread in (
        ("past the deadline", measured.overshoot_ms),
        ("then until the tree is gone", measured.gone_ms),
    ):
        print(
            f"cut, {title}: {what} p50 {spread.p50:.2f} ms, p99 {spread.p99:.2f} ms, "
            f"max {spread.max:.2f} ms"
        )


if __name__ == "__main__":
    main()

"""Everything that `make bench` measures, each beside its yardstick in the same run."""

import tempfile
from pathlib import Path

from . import calls, deadlines, startup

MAX_RATIO_WITH_C = 1.5


def main() -> None:
    """Prints a section a measurement."""
    with tempfile.TemporaryDirectory() as folder:
        c_adapter = calls.compile_c_adapter(Path(folder))
        adapters = {"C adapter": c_adapter, "Python adapter": calls.python_adapter()}
        for title, argv in adapters.items():
            report_calls(title, argv)
        for title, argv in adapters.items():
            report_startup(title, argv)
    print(f"start: the interpreter alone {startup.interpreter_ms():.1f} ms")
    report_deadlines("idle", deadlines.measure())
    with deadlines.busy_processors():
        report_deadlines("all processors busy", deadlines.measure())


def report_calls(title: str, argv: tuple[str, ...]) -> None:
    """A call of a raw blocking pipe loop, of the runner, and their ratio."""
    raw, ours = calls.measure(argv)
    print(
        f"call, {title}: raw pipe loop {raw:.1f} us, runner {ours:.1f} us, ratio {ours / raw:.2f}"
        + (f" (limit {MAX_RATIO_WITH_C})" if title.startswith("C") else "")
    )


def report_startup(title: str, argv: tuple[str, ...]) -> None:
    """Launch to the first answer."""
    measured = startup.measure(argv)
    print(
        f"start, {title}: to the first answer {measured.bare_ms:.1f} ms bare, "
        f"{measured.guarded_ms:.1f} ms under a running guard, "
        f"{measured.with_new_guard_ms:.1f} ms with a new one"
    )


def report_deadlines(title: str, measured: deadlines.Deadlines) -> None:
    """The cut of a spinning adapter with twenty children."""
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

"""Prints to stdout in reset, and fails in step."""

import subprocess
import sys

import host  # type: ignore[import-not-found]


def reset() -> None:
    sys.stdout.write("printed by the program\n")
    subprocess.run(["echo", "printed by a child process"], check=True)


def step(operation: object) -> None:
    raise RuntimeError('Größe 日本語 😀 "quoted" back\\slash\nnext line')


host.serve(reset, step, name="probe", capabilities={"clock": {"secondsPerTick": 0.25}})

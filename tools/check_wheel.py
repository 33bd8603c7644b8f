"""Builds the wheel, compares its content with git, installs it in a fresh environment, uses it.

python tools/check_wheel.py
"""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = {
    "harness/retryproof/": "retryproof/",
    "protocol/retryproof_protocol/": "retryproof_protocol/",
    "protocol/spec/": "retryproof/_data/spec/",
    "adapters/": "retryproof/_data/adapters/",
    "fixtures/": "retryproof/_data/fixtures/",
}


def main() -> int:
    """Status 0 if the wheel is what it must be."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = _build(Path(folder))
        problems = _compare(wheel)
        for problem in problems:
            print(problem)
        if problems:
            return 1
        _drive(wheel, Path(folder) / "environment")
    print("the wheel holds what git has, and works")
    return 0


def _build(folder: Path) -> Path:
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


def _compare(wheel: Path) -> list[str]:
    tracked = subprocess.run(
        ["git", "ls-files", *SHIPPED], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    expected = {_shipped_name(name) for name in tracked}
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    missing = [f"not in the wheel: {name}" for name in sorted(expected - shipped)]
    return missing + [f"not in git: {name}" for name in sorted(shipped - expected)]


def _shipped_name(name: str) -> str:
    source = next(source for source in SHIPPED if name.startswith(source))
    return SHIPPED[source] + name.removeprefix(source)


def _drive(wheel: Path, environment: Path) -> None:
    venv.create(environment, with_pip=True)
    python = str(environment / "bin/python")
    _run(python, "-m", "pip", "install", "--quiet", str(wheel))
    command = str(environment / "bin/retryproof")
    reference = str(ROOT / "adapters/python/reference.py")
    _run(command, "self-test")
    _run(command, "run", "--python", python, reference)
    _run(command, "run", "--", python, reference)
    _run(command, "doctor", "--python", python, reference)
    _run(command, "init", "python", str(environment / "project"))
    if sorted(os.listdir(environment / "project")) != ["README.md", "adapter.py"]:
        raise SystemExit("a new project holds what it should not, or lacks what it should hold")
    faulty = _status(command, "run", "--", python, reference, "--fault", "body-blind")
    if faulty != 1:
        raise SystemExit(f"a faulty adapter ended with status {faulty}, not 1")
    _drive_daemon(command, python, reference)


def _drive_daemon(command: str, python: str, reference: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = ("--socket", f"{folder}/run/socket", "--state", f"{folder}/state")
        with subprocess.Popen([command, "serve", *places], stdout=subprocess.DEVNULL) as daemon:
            _run(command, "submit", *places, "--wait", "--", python, reference)
            daemon.terminate()
    if daemon.returncode != 0:
        raise SystemExit(f"the daemon ended with status {daemon.returncode}, not 0")


def _run(*command: str) -> None:
    if (status := _status(*command)) != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")


def _status(*command: str) -> int:
    # Elsewhere than in the checkout, so that nothing is found there by accident.
    with tempfile.TemporaryDirectory() as elsewhere:
        finished = subprocess.run(
            command, cwd=elsewhere, check=False, capture_output=True, text=True
        )
    if finished.returncode not in {0, 1}:
        print(finished.stdout + finished.stderr)
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main())

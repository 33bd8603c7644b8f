"""The worked examples: installed as their READMEs say, and still showing what those show."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import RETRYPROOF
from tests.toolchains import needs

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "adapters/examples"
MAX_ADAPTER_LINES = 80


def install_python(folder: Path) -> tuple[str, ...]:
    """The example's own virtual environment; the adapter's arguments."""
    python = folder / ".venv/bin/python"
    if not python.exists():
        _install(sys.executable, "-m", "venv", str(folder / ".venv"))
    _install(str(python), "-m", "pip", "install", "--quiet", "-r", str(folder / "requirements.txt"))
    return ("adapter.py", "--python", ".venv/bin/python")


def install_node(folder: Path) -> tuple[str, ...]:
    """The example's own packages; the adapter's arguments."""
    _install("npm", "ci", "--prefix", str(folder))
    return ("adapter.mjs",)


def serve_python(folder: Path) -> tuple[str, ...]:
    """The example's own virtual environment; the arguments for its service."""
    install_python(folder)
    return ("--http", "service.toml")


def serve_node(folder: Path) -> tuple[str, ...]:
    """The example's own packages; the arguments for its service."""
    install_node(folder)
    return ("--http", "service.toml")


def _install(*command: str) -> None:
    finished = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    if finished.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"can't be installed here: {finished.stderr[-200:]}")
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("name", "install"),
    [
        pytest.param("drf-idem", install_python, id="drf-idem"),
        pytest.param(
            "express-idempotency", install_node, id="express-idempotency", marks=needs("npm")
        ),
        pytest.param("fastapi-idempotency", install_python, id="fastapi-idempotency"),
        pytest.param("flask-once", install_python, id="flask-once"),
        pytest.param(
            "http-express-idempotency",
            serve_node,
            id="http-express-idempotency",
            marks=needs("npm"),
        ),
        pytest.param(
            "http-fastapi-idempotency-key", serve_python, id="http-fastapi-idempotency-key"
        ),
        pytest.param("idemkit-python", install_python, id="idemkit-python"),
        pytest.param("node-idempotency", install_node, id="node-idempotency", marks=needs("npm")),
    ],
)
def test_an_example_shows_what_its_readme_shows(
    name: str, install: Callable[[Path], tuple[str, ...]]
) -> None:
    folder = EXAMPLES / name
    finished = subprocess.run(
        [*RETRYPROOF, "run", *install(folder)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
    )
    assert finished.returncode == 1
    assert finished.stderr == ""
    assert _comparable(finished.stdout) in _comparable((folder / "README.md").read_text())


@pytest.mark.parametrize(
    "adapter", sorted(EXAMPLES.glob("*/adapter.*")), ids=lambda p: p.parent.name
)
def test_an_example_is_small(adapter: Path) -> None:
    assert len(adapter.read_text().splitlines()) <= MAX_ADAPTER_LINES


@needs("npm")
def test_the_readme_shows_a_real_run() -> None:
    install_node(EXAMPLES / "node-idempotency")
    adapter = "adapters/examples/node-idempotency/adapter.mjs"
    finished = subprocess.run(
        [*RETRYPROOF, "run", "--case", "fixed-expiry", adapter],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    readme = (ROOT / "README.md").read_text()
    assert f"$ retryproof run --case fixed-expiry {adapter}" in readme
    assert _comparable(finished.stdout) in _comparable(readme)


def _comparable(text: str) -> str:
    """Without what differs from machine to machine: times, versions, trailing blanks."""
    text = re.sub(r"^Resources: .*$", "Resources: ...", text, flags=re.MULTILINE)
    text = re.sub(r"\((Python|Node\.js) [\d.]+\)", r"(\1)", text)
    return "\n".join(line.rstrip() for line in text.splitlines())

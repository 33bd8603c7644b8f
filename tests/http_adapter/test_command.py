"""`retryproof run --http` as its users meet it."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.command import retryproof, retryproof_json
from tests.http_adapter.running import PYTHON_ORDERS, WHOLE_FILE, running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "service.toml"
    path.write_text(WHOLE_FILE.format(port=9))
    return path


def test_a_service_needs_no_adapter(file: Path) -> None:
    with running(*PYTHON_ORDERS) as port:
        file.write_text(WHOLE_FILE.format(port=port))
        finished = retryproof("run", "--http", str(file))
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert finished.stdout.startswith("pass: 7 cases planned: 7 passed")
    assert f"\nAdapter: http://127.0.0.1:{port}; service service.toml\n" in finished.stdout


def test_json_names_the_host(file: Path) -> None:
    with running(*PYTHON_ORDERS) as port:
        file.write_text(WHOLE_FILE.format(port=port))
        report = retryproof_json("run", "--http", str(file))
    assert report["verdict"] == "pass"
    assert report["adapter"]["host"] == "http"
    assert report["adapter"]["name"] == f"http://127.0.0.1:{port}"
    assert report["adapter"]["cwd"] == str(file.parent)


def test_the_repeating_command_repeats_just_that_case(file: Path) -> None:
    with running(*PYTHON_ORDERS, "--fault", "body-blind") as port:
        file.write_text(WHOLE_FILE.format(port=port))
        finished = retryproof("run", "--http", "service.toml", cwd=file.parent)
        assert finished.returncode == 1
        assert "\nDiagnosis: body-blind. " in finished.stdout
        prefix = "  Repeat it: retryproof "
        lines = [line for line in finished.stdout.splitlines() if line.startswith(prefix)]
        again = retryproof(*shlex.split(lines[0].removeprefix(prefix)), cwd=file.parent)
    assert again.returncode == 1
    assert again.stdout.startswith("FAIL: 1 case planned: 0 passed, 1 failed")


@pytest.mark.parametrize(
    "more",
    [("adapter.py",), ("--", "true"), ("--python", sys.executable), ("--cwd", "/")],
    ids=lambda more: more[0],
)
def test_a_service_goes_with_no_adapter(file: Path, more: tuple[str, ...]) -> None:
    finished = retryproof("run", "--http", str(file), *more)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == (
        "retryproof: --http goes with no adapter, no --python and no --cwd.\n"
        f"The commands of {file} run in its own folder.\n"
    )


def test_a_file_that_says_something_wrong_is_an_invalid_argument(file: Path) -> None:
    file.write_text(file.read_text().replace("receipt", "reciept"))
    finished = retryproof("run", "--http", str(file))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr == (
        f"retryproof: {file}: [step] reciept is not known. Did you mean receipt?\n"
        "`retryproof init http` writes a commented file to start from.\n"
    )


def test_a_file_that_is_not_there_is_an_invalid_argument() -> None:
    finished = retryproof("run", "--http", "no-such-file.toml")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "'no-such-file.toml' does not exist" in finished.stderr


@pytest.mark.parametrize("module", ["http", "tomllib", "retryproof", "httpx2"])
def test_modules_beside_the_file_do_not_get_in_the_way(file: Path, module: str) -> None:
    (file.parent / f"{module}.py").write_text("raise SystemExit('the wrong module')\n")
    report = retryproof_json("run", "--http", str(file))
    assert "can't be sent: Connection refused" in report["cases"][0]["failure"]["message"]


def test_the_environment_of_the_service_is_what_was_passed(file: Path) -> None:
    file.write_text(
        file.read_text().replace(
            'request = "POST /test/reset"', 'command = ["sh", "-c", "env >&2; exit 1"]'
        )
        + '\n[start]\ncommand = ["sh", "-c", "env; exit 1"]\n'
    )
    environment = {"DEPLOY_TOKEN": "s3cret", "LC_TIME": "C"}
    finished = retryproof("run", "--json", "--http", str(file), "--env", "A=b", env=environment)
    log = json.loads(finished.stdout)["stderrTail"]
    assert "\nA=b\n" in f"\n{log}"
    assert "LC_TIME=C" in log
    assert "s3cret" not in finished.stdout


def test_the_file_may_be_anywhere(file: Path) -> None:
    relative = os.path.relpath(file, file.parent.parent)
    report = retryproof_json("run", "--http", relative, cwd=file.parent.parent)
    assert report["adapter"]["command"][-1] == str(file)

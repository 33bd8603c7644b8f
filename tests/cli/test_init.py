"""`retryproof init` as its users meet it."""

from pathlib import Path

from retryproof.kits.catalogue import kits

from tests.cli.command import retryproof, retryproof_json


def test_what_was_written_and_what_comes_next(tmp_path: Path) -> None:
    finished = retryproof("init", "python", "my adapter", cwd=tmp_path)
    assert finished.returncode == 0
    assert finished.stderr == ""
    assert finished.stdout == (
        "wrote my adapter/README.md\n"
        "wrote my adapter/adapter.py\n"
        "\n"
        "README.md says how to connect your service. Then:\n"
        "  cd 'my adapter'\n"
        "  retryproof doctor adapter.py\n"
        "  retryproof run adapter.py\n"
    )
    assert (tmp_path / "my adapter/adapter.py").is_file()


def test_the_folder_is_this_one_if_none_is_named(tmp_path: Path) -> None:
    finished = retryproof("init", "c", cwd=tmp_path)
    assert finished.returncode == 0
    assert "  cc -std=c11 -Wall -o my-adapter adapter.c\n" in finished.stdout
    assert "  retryproof run -- ./my-adapter\n" in finished.stdout
    assert "cd " not in finished.stdout
    assert (tmp_path / "retryproof.h").is_file()


def test_as_json(tmp_path: Path) -> None:
    report = retryproof_json("init", "http", cwd=tmp_path)
    assert report == {
        "schema": "retryproof.init/1",
        "language": "http",
        "files": ["service.toml", "README.md"],
        "next": [
            "retryproof doctor --http service.toml",
            "retryproof run --http service.toml",
        ],
        "missingTools": [],
    }


def test_an_existing_file_is_refused_with_status_2(tmp_path: Path) -> None:
    assert retryproof("init", "ruby", cwd=tmp_path).returncode == 0
    finished = retryproof("init", "ruby", cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("retryproof: README.md is there already: nothing was written")


def test_the_list_has_every_kit_and_http(tmp_path: Path) -> None:
    finished = retryproof("init", "--list", cwd=tmp_path)
    assert finished.returncode == 0
    names = [line.split()[0] for line in finished.stdout.splitlines()]
    assert names == [*(kit.name for kit in kits()), "http"]
    assert list(tmp_path.iterdir()) == []


def test_the_list_says_what_is_not_installed() -> None:
    report = retryproof_json("init", "--list")
    assert report["schema"] == "retryproof.languages/1"
    listed = {each["name"]: each for each in report["languages"]}
    assert listed["python"]["language"] == "Python"
    assert listed["http"]["tools"] == listed["http"]["missingTools"] == []
    finished = retryproof("init", "--list", env={"PATH": "/nowhere"})
    assert "not installed here: bash, jq\n" in finished.stdout
    assert "  http        any HTTP service  ready\n" in finished.stdout


def test_a_project_whose_tools_are_missing_is_written_and_says_so(tmp_path: Path) -> None:
    finished = retryproof("init", "go", cwd=tmp_path, env={"PATH": "/nowhere"})
    assert finished.returncode == 0
    assert "Not installed here, and needed to go on: go.\n" in finished.stdout


def test_no_language_and_an_unknown_one_are_refused_with_status_2() -> None:
    finished = retryproof("init")
    assert finished.returncode == 2
    assert "retryproof init --list" in finished.stderr
    finished = retryproof("init", "cobol")
    assert finished.returncode == 2
    assert finished.stderr.startswith("retryproof: There is no kit for cobol.\nThere are bash, c, ")

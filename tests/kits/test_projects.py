"""A project that `init` began leads, by its own README, to a doctor that says what is missing."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from retryproof.errors import FileError, InvalidArgumentsError
from retryproof.kits.catalogue import Kit, kit_for, kits
from retryproof.kits.project import plan_for, write

from tests.toolchains import require_tools

KITS = kits()
BUILD_SECONDS = 100
NOT_CONNECTED = "not connected yet: empty the service here"


def name_of(kit: Kit) -> str:
    return kit.name


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ("bash", "-c", command),
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=BUILD_SECONDS,
    )


def commands_in(readme: Path) -> list[str]:
    (block,) = re.findall(r"^```sh\n(.*?)^```$", readme.read_text("utf-8"), re.S | re.M)
    return str(block).splitlines()


@pytest.mark.parametrize("kit", KITS, ids=name_of)
def test_each_command_of_its_readme_does_what_it_says(kit: Kit, tmp_path: Path) -> None:
    require_tools(kit)
    write(plan_for(kit.name), tmp_path)
    *build, doctor, run = commands_in(tmp_path / "README.md")
    for command in build:
        finished = shell(command, tmp_path)
        assert finished.returncode == 0, finished.stdout
    finished = shell(doctor, tmp_path)
    assert finished.returncode == 1, finished.stdout
    assert finished.stdout.startswith("FAIL: 1 of 11 checks failed, 4 could not be made\n")
    assert re.search(rf"^  FAIL         reset .*{NOT_CONNECTED}", finished.stdout, re.M)
    finished = shell(run, tmp_path)
    assert finished.returncode == 1, finished.stdout
    assert NOT_CONNECTED in finished.stdout


def test_an_http_project_is_a_description_that_is_read(tmp_path: Path) -> None:
    write(plan_for("http"), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "service.toml"]
    for command in ("doctor", "run"):
        finished = shell(f"retryproof {command} --http service.toml", tmp_path)
        assert finished.returncode == 1, finished.stdout
        assert "Is the service running?" in finished.stdout


@pytest.mark.parametrize("kit", KITS, ids=name_of)
def test_it_holds_the_template_and_the_kit_s_own_files(kit: Kit, tmp_path: Path) -> None:
    written = write(plan_for(kit.name), tmp_path / "deep" / "down")
    names = {str(path.relative_to(tmp_path / "deep" / "down")) for path in written}
    assert "README.md" in names
    assert set(kit.project.copies) < names
    for name in kit.project.copies:
        assert (tmp_path / "deep" / "down" / name).read_bytes() == (kit.folder / name).read_bytes()
    assert not any("__pycache__" in name for name in names)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("go", "go"),
        ("Go", "go"),
        ("javascript", "node"),
        ("C#", "csharp"),
        ("TypeScript", "typescript"),
    ],
)
def test_a_language_has_more_than_one_name(word: str, name: str) -> None:
    assert kit_for(word).name == name


def test_an_unknown_language_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        plan_for("cobol")
    assert refused.value.message == "There is no kit for cobol."
    assert "bash, c, csharp, go" in refused.value.advice
    assert "http" in refused.value.advice


def put_file(path: Path) -> None:
    path.write_text("mine")


def put_folder(path: Path) -> None:
    path.mkdir()


def put_dead_link(path: Path) -> None:
    path.symlink_to("nowhere")


OBSTACLES: list[tuple[str, Callable[[Path], None]]] = [
    *((name, put_file) for name in ("README.md", "retryproof", "main.go", "go.mod")),
    *((name, put_folder) for name in ("README.md", "main.go")),
    *((name, put_dead_link) for name in ("README.md", "retryproof", "main.go")),
]


@pytest.mark.parametrize(("name", "put"), OBSTACLES)
def test_nothing_is_written_over_anything(
    name: str, put: Callable[[Path], None], tmp_path: Path
) -> None:
    put(tmp_path / name)
    before = {path: path.lstat() for path in tmp_path.iterdir()}
    with pytest.raises(FileError) as refused:
        write(plan_for("go"), tmp_path)
    assert refused.value.message == f"{tmp_path / name} is there already: nothing was written."
    assert {path: path.lstat() for path in tmp_path.iterdir()} == before


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    put_file(tmp_path / "file")
    with pytest.raises(FileError, match="is there already"):
        write(plan_for("go"), tmp_path / "file" / "project")


def test_other_files_in_the_folder_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "retryproof").mkdir()
    put_file(tmp_path / "retryproof" / "notes")
    write(plan_for("go"), tmp_path)
    assert (tmp_path / "retryproof" / "notes").read_text() == "mine"
    assert (tmp_path / "retryproof" / "retryproof.go").is_file()


def test_a_file_that_can_not_be_written_takes_the_others_with_it(tmp_path: Path) -> None:
    plan = plan_for("go")
    damaged = replace(plan, files={**plan.files, "zzz": tmp_path / "no such source"})
    with pytest.raises(FileError, match="no such source can't be written: No such file"):
        write(damaged, tmp_path / "project")
    assert [path for path in (tmp_path / "project").rglob("*") if path.is_file()] == []


def test_missing_tools_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert all(kit.missing_tools == kit.tools for kit in KITS)
    assert plan_for("java").missing_tools == ("javac", "java")

"""The page "Connect your service in five minutes": word by word, from an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from retryproof.kits.catalogue import kits
from retryproof.reports.doctor import TITLES

PAGE = Path(__file__).parent.parent.parent / "harness/docs/connect/README.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)
PUSHES_EXPIRY = 'record["expires"] = clock() + RETENTION_SECONDS'


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ("bash", "-e", "-c", commands),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after the whole page; each block of output was seen where it stands."""
    folder = tmp_path_factory.mktemp("connect")
    output = ""
    for block in BLOCK.finditer(TEXT):
        if block["language"] == "sh":
            finished = shell(block["text"], folder)
            assert finished.returncode == 0, finished.stdout
            output = finished.stdout
        elif block["language"] == "python":
            name = re.findall("write `([^`]+)`", block["prose"])[-1]
            (folder / name).write_text(block["text"], encoding="utf-8")
        else:
            assert block["text"] in output
    return folder


def test_the_page_leads_from_an_empty_folder_to_a_pass(connected: Path) -> None:
    assert sorted(path.name for path in connected.glob("*.*")) == [
        "README.md",
        "adapter.py",
        "orders.py",
    ]


def test_the_broken_promise_is_named(connected: Path) -> None:
    assert f"`{PUSHES_EXPIRY}`" in TEXT
    service = (connected / "orders.py").read_text()
    answer = '        return 200, record["order"]\n'
    assert answer in service
    (connected / "orders.py").write_text(
        service.replace(answer, f"        {PUSHES_EXPIRY}\n{answer}")
    )
    finished = shell("retryproof run adapter.py", connected)
    assert finished.returncode == 1
    assert "Diagnosis: sliding-expiry. " in finished.stdout
    assert shell("retryproof doctor adapter.py", connected).returncode == 0


def test_every_language_has_its_line_and_its_page() -> None:
    for kit in kits():
        link = f"[{kit.language}](../../../adapters/{kit.name}/README.md)"
        assert f"| {kit.language} | `retryproof init {kit.name}` | {link} |\n" in TEXT
    assert "| `retryproof init http` | [HTTP](../../../adapters/http/README.md) |\n" in TEXT


def test_no_link_is_broken() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert links
    for link in links:
        assert (PAGE.parent / link).resolve().is_file(), link


def test_the_table_has_every_check_in_order() -> None:
    table = TEXT.split("| check |")[1]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == list(TITLES)

"""The page for HTTP services, word by word from an empty folder; the file that `init` writes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from retryproof.http_adapter.config import parse_service
from retryproof.http_adapter.tables import ServiceTables
from retryproof.http_adapter.templates import STEP_PLACEHOLDERS

from tests.http_adapter.running import run_service

FOLDER = Path(__file__).parent.parent.parent / "adapters/http"
BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)
SECTION_ENDS = {
    "In five minutes": "[reset] request: POST http://127.0.0.1:18642/test/reset can't be sent: "
    "Connection refused. Is the service running?",
    "A service to try it on": "Diagnosis: body-blind.",
}
"""What the last command of each section prints, which ends with status 1."""


def test_the_readme_leads_from_an_empty_folder_to_a_report(tmp_path: Path) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for section, words in SECTION_ENDS.items():
        text = readme.split(f"## {section}\n")[1].split("\n## ")[0]
        assert words in " ".join(text.split())
        for block in BLOCK.finditer(text):
            if block["language"] != "sh":
                name = re.findall("[Ww]rite `([^`]+)`", block["prose"])[-1]
                (tmp_path / name).write_text(block["text"], encoding="utf-8")
                continue
            finished = subprocess.run(
                ("bash", "-e", "-c", block["text"]),
                check=False,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
        assert finished.returncode == 1, finished.stderr
        assert words in finished.stdout


def test_the_commented_file_is_one_that_can_be_run(tmp_path: Path) -> None:
    text = (FOLDER / "service.toml").read_text(encoding="utf-8")
    text = text.replace("127.0.0.1:8080", "127.0.0.1:9")
    failure = run_service(tmp_path, text).cases[0].failure
    assert failure is not None
    assert failure.kind == "adapter-error"
    assert "[reset] request: POST http://127.0.0.1:9/test/reset can't be sent" in failure.message


ALTERNATIVES = {
    "start": (r"# (\[start\])\n# (command.*)", r"\1\n\2"),
    "reset": (r'request = "POST /test/reset"\n# (command)', r"\1"),
    "clock": (r'request = "POST /test/clock"\njson.*\n#.*\n# (seconds)', r"\1"),
    "writes": (r'request = "GET /test/orders"\ncount.*\n# (command)', r"\1"),
}


@pytest.mark.parametrize("table", ALTERNATIVES)
def test_what_is_commented_out_would_be_right_in_its_place(table: str) -> None:
    pattern, replacement = ALTERNATIVES[table]
    text = (FOLDER / "service.toml").read_text(encoding="utf-8")
    other, count = re.subn(pattern, replacement, text)
    assert count == 1
    assert getattr(parse_service(other.encode()), table) != getattr(
        parse_service(text.encode()), table
    )


def test_the_readme_has_every_key_and_placeholder() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in (*ServiceTables.__struct_fields__, "within_seconds", "seconds_per_tick", "receipt"):
        assert f"`{name}`" in readme or f"`[{name}]`" in readme
    for name in STEP_PLACEHOLDERS:
        assert f"`{{{name}}}`" in readme

"""The page about retryfuse: its client runs, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "harness/docs/retryfuse.md"


def test_the_client_of_the_page_does_what_the_page_says() -> None:
    text = PAGE.read_text()
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    (output,) = re.findall(r"```\n(order 17\n.*?)```", text, re.DOTALL)
    finished = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert finished.stdout == output
    assert finished.stderr == ""

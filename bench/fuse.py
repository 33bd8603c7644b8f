"""What a decision costs in bulk: `retryfuse --jsonl` beside a loop that only parses and encodes."""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct
from retryproof.cli.jsonl import batches_of_lines
from retryproof.fuse import MAX_INPUT_BYTES, encode, evaluate_json

INPUTS = 200_000
ROUNDS = 5
MAX_LINE_BYTES = 2_000
MALFORMED_SHARE = 0.02
MATRIX = Path(__file__).parent.parent / "fixtures/retryfuse"


class Bulk(Struct, frozen=True):
    """Inputs a second of CPU of either loop; the command's peak memory for few and for many."""

    parsing_per_second: float
    deciding_per_second: float
    few_peak_mib: float
    many_peak_mib: float


def measure() -> Bulk:
    """Both loops over the same lines from a file, in turn; then the command itself."""
    with tempfile.NamedTemporaryFile() as file:
        file.writelines(mixed_lines(INPUTS))
        file.flush()
        rounds = [
            (_seconds(_parse_and_encode, file.name), _seconds(_decide, file.name))
            for _ in range(ROUNDS)
        ]
        many = _peak_mib(Path(file.name).read_bytes())
    few = _peak_mib(b"".join(mixed_lines(INPUTS // 20)))
    parsing, deciding = (statistics.median(column) for column in zip(*rounds, strict=True))
    return Bulk(INPUTS / parsing, INPUTS / deciding, few, many)


def mixed_lines(count: int) -> list[bytes]:
    """Inputs of every category of the matrix, few of them malformed, as a log would have them."""
    cases = [json.loads(path.read_bytes()) for path in sorted(MATRIX.glob("*/*.json"))]
    lines = {
        is_malformed: [
            line
            for case in cases
            if "input" in case and (case["category"] == "malformed") == is_malformed
            if len(line := json.dumps(case["input"]).encode() + b"\n") <= MAX_LINE_BYTES
        ]
        for is_malformed in (True, False)
    }
    malformed, well_formed = itertools.cycle(lines[True]), itertools.cycle(lines[False])
    every = round(1 / MALFORMED_SHARE)
    return [next(malformed if number % every == 0 else well_formed) for number in range(count)]


def _parse_and_encode(lines: list[bytes]) -> bytes:
    # What is no object of JSON's grammar does not occur among the lines.
    return b"".join(msgspec.json.encode(msgspec.json.decode(line)) + b"\n" for line in lines)


def _decide(lines: list[bytes]) -> bytes:
    return b"".join(encode(evaluate_json(line)) + b"\n" for line in lines)


def _seconds(work: Callable[[list[bytes]], bytes], name: str) -> float:
    """Of the processor, which other programs' work does not add to."""
    started = time.process_time()
    with open(name, "rb") as file, open(os.devnull, "wb") as nowhere:
        for lines in batches_of_lines(file, MAX_INPUT_BYTES):
            nowhere.write(work(lines))
    return time.process_time() - started


def _peak_mib(data: bytes) -> float:
    """The peak memory of `retryfuse --jsonl` over the data, told by itself."""
    program = (
        "import pathlib, sys\n"
        "from retryproof.cli.fuse import fuse\n"
        "fuse.main(['--jsonl', '-'], standalone_mode=False)\n"
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(status.split('VmHWM:')[1].split()[0], file=sys.stderr)\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], check=True, input=data, capture_output=True
    )
    return int(finished.stderr.split()[-1]) / 1024

"""The programs of a SERVICE.toml: commands that are run to their end, and the service itself.

Nothing that they print reaches the adapter's stdout, which belongs to the protocol.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO

from retryproof_protocol.quoting import quote_start

from .answers import Answer, CallError
from .client import MAX_ANSWER_BYTES, probe
from .config import Command, Start
from .log import Log

STOP_SECONDS = 0.4
"""From asking the service to stop to the kill; the runner gives the adapter 1 s in all."""
_PLACE = "[start] command"
_PROBE_EVERY_SECONDS = 0.05
_LAST_MOMENT_SECONDS = 0.2
_KEPT_BYTES = 2048
_SHOWN_BYTES = 200


def run_command(command: Command, log: Log) -> Answer:
    """Runs the command; its stdout as the answer. Waits without an end, as the client does.

    Raises:
        CallError: it could not be started, failed, or printed more than a MiB.
    """
    place, label = f"{command.table} command", shlex.join(command.argv)
    # Files, as a process that the command leaves behind would keep a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        try:
            with log.doing(f"{place}: {label}"):
                status = subprocess.run(
                    command.argv,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=complaints,
                ).returncode
        except OSError as error:
            raise CallError(place, f"{label} can't be started: {error.strerror}.") from None
        if status != 0:
            words = _last_words(_end_of(complaints) or _end_of(output))
            raise CallError(place, f"{label} {_describe_exit(status)}.{words}")
        output.seek(0)
        body = output.read(MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise CallError(place, f"the output of {label} is longer than 1 MiB.")
    return Answer(f"the output of {label}", 200, {}, body)


class StartedService:
    """The service's own process, and all that it started and kept in its process group."""

    def __init__(self, start: Start, base_url: str) -> None:
        """Starts the service.

        Raises:
            CallError: it can't be started, or something else answers at its URL.
        """
        self._label = shlex.join(start.argv)
        self._last_bytes = b""
        if probe(base_url).status is not None:
            raise CallError(
                _PLACE,
                f"something answers at {base_url} before {self._label} was started: end that, or "
                "leave [start] out to test it.",
            )
        try:
            self._process = subprocess.Popen(
                start.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        except OSError as error:
            raise CallError(_PLACE, f"{self._label} can't be started: {error.strerror}.") from None
        self._pump = threading.Thread(target=self._pass_on_output, daemon=True)
        self._pump.start()

    def wait_until_it_answers(self, base_url: str, within_seconds: float) -> None:
        """Returns when the service answers.

        Raises:
            CallError: it ended, or did not answer in time.
        """
        deadline = time.monotonic() + within_seconds
        while not (look := probe(base_url)).is_ready:
            if self._process.poll() is not None:
                raise CallError(
                    _PLACE,
                    f"{self.describe()} The command has to stay for as long as the service does.",
                )
            if time.monotonic() > deadline:
                raise CallError(
                    _PLACE,
                    f"{self._label} runs, but there is no answer at {base_url} within "
                    f"{within_seconds:g} s: {look.reason}. If it only starts slowly, raise "
                    "within_seconds and --startup-timeout.",
                )
            time.sleep(_PROBE_EVERY_SECONDS)

    def describe(self) -> str:
        """What became of the process, and what it said last if it is gone."""
        try:
            # Its connections may have ended a moment before itself.
            status = self._process.wait(_LAST_MOMENT_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{self._label} ([start]) is running."
        self._pump.join(STOP_SECONDS)
        words = _last_words(self._last_bytes)
        return f"{self._label} ([start]) {_describe_exit(status)}.{words}"

    def stop(self) -> None:
        """Ends the whole process group: politely, then with SIGKILL."""
        self._signal(signal.SIGTERM)
        # The pipe ends when the last process that holds it does.
        self._pump.join(STOP_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        """Signals the group. Not once its first process is reaped: numbers are used again."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, number)

    def _pass_on_output(self) -> None:
        output = self._process.stdout
        while output is not None and (data := os.read(output.fileno(), 65536)):
            self._last_bytes = (self._last_bytes + data)[-_KEPT_BYTES:]
            os.write(sys.stderr.fileno(), data)


def _end_of(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _KEPT_BYTES))
    return file.read()


def _last_words(output: bytes) -> str:
    words = output.strip()[-_SHOWN_BYTES:]
    return f" It ended with {quote_start(words, _SHOWN_BYTES)}." if words else ""


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"

"""Real daemon processes: `retryproof serve` in a folder of its own, started, stopped and killed."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx2
import psutil
from retryproof.supervise.guard_process import become_subreaper

from tests.cli.command import RETRYPROOF, wait_for

PATIENCE_SECONDS = 30
"""For anything a daemon does on a machine that does other things as well: only a hang is longer."""
FAULTY = str(Path(__file__).parents[2] / "fixtures/faulty/adapter.py")
GATED = str(Path(__file__).with_name("gated.py"))
REFERENCE = str(Path(__file__).parents[2] / "adapters/python/reference.py")
FUSE_REFERENCE = str(Path(__file__).parents[2] / "adapters/python/fuse_reference.py")
HANGING = "step2=hang"


class Message(NamedTuple):
    """One server-sent event; `number` is 0 for the last one, `end`."""

    number: int
    kind: str
    data: dict[str, Any]


class UnixConnection(http.client.HTTPConnection):
    """One connection to a Unix socket, for clients that are many, or meet a dying daemon.

    httpx2 leaves a socket open that is refused.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("retryproof", timeout=PATIENCE_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connects."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(str(self._path))
        except BaseException:
            self.close()
            raise


class Daemon:
    """One socket and one state folder, and the daemon that runs there now, if one does.

    As a context manager it starts the daemon, and at the end stops it, and fails the test if it
    did not leave with status 0 or left anything behind. A daemon that was killed is left dead.

    Attributes:
        folder: a private one in the system's folder for temporary files: a socket's path is short.
        within: a command that becomes the daemon's, see below.
        socket: the path of the daemon's socket.
        state: its state folder.
        ready_line: what it printed when it was ready.
    """

    def __init__(
        self,
        *options: str,
        environment: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """`options` are more of `retryproof serve`, `environment` more variables.

        `within` is a command that becomes the one that follows it, such as `unshare -m`.
        """
        become_subreaper()  # What a killed daemon leaves is this process's, and so is found.
        self.folder = Path(tempfile.mkdtemp(prefix="rp-"))
        self.socket = self.folder / "s"
        self.state = self.folder / "state"
        self.ready_line = ""
        self.within = tuple(within)
        self._options = options
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None
        self._client: httpx2.Client | None = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.remove()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if not self.is_running:
                return
            if error is None:
                assert self.stop() == 0, self.log
            else:
                self.kill()
        finally:
            self.remove()

    @property
    def command(self) -> list[str]:
        """The command that is run."""
        places = ["--socket", str(self.socket), "--state", str(self.state)]
        return [*self.within, *RETRYPROOF, "serve", *places, *self._options]

    @property
    def process(self) -> subprocess.Popen[str]:
        """The daemon's process."""
        assert self._process is not None, "the daemon was not started"
        return self._process

    @property
    def is_running(self) -> bool:
        """Whether it was started, and is not known to have ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """All that its processes have written on stderr, those before a restart included."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def client(self) -> httpx2.Client:
        """A client over the socket, for any number of threads; a new one after each start."""
        if self._client is None:
            self._client = self.new_client()
        return self._client

    @property
    def url(self) -> str:
        """The address of its TCP listener, if there is one."""
        return self.ready_line.partition(" and ")[2].partition(" ")[0]

    @property
    def token(self) -> str:
        """The bearer token for its TCP listener."""
        return (self.state / "token").read_text().strip()

    def new_client(self) -> httpx2.Client:
        """A client over the socket, to be closed by the caller."""
        transport = httpx2.HTTPTransport(uds=str(self.socket))
        return httpx2.Client(
            transport=transport, base_url="http://retryproof", timeout=PATIENCE_SECONDS
        )

    def connection(self) -> UnixConnection:
        """A connection of its own, to be closed by the caller."""
        return UnixConnection(self.socket)

    def start(self) -> Self:
        """Starts it, and returns when it is ready; fails the test if it does not get ready."""
        assert not self.is_running
        self.spawn()
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline()
        if not self.ready_line:
            self._reap()
            raise AssertionError(f"the daemon did not start: {self.log}")
        return self

    def spawn(self) -> None:
        """Starts it, and returns at once."""
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                self.command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environment,
                cwd=self.folder,
            )

    def refused(self) -> subprocess.CompletedProcess[str]:
        """Runs it to its end, for a daemon that must refuse to start."""
        return subprocess.run(
            self.command,
            capture_output=True,
            check=False,
            text=True,
            env=self._environment,
            cwd=self.folder,
            timeout=PATIENCE_SECONDS,
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends the signal, and waits until the daemon has left; nothing of it must be left.

        Returns its exit status.
        """
        others = self._not_of_it()
        self._close_client()
        self.process.send_signal(number)
        return self.wait(others)

    def wait(self, others: set[psutil.Process] | None = None) -> int:
        """Waits until the daemon has left, with nothing left of it; its exit status."""
        others = self._not_of_it() if others is None else others
        status = self.process.wait(PATIENCE_SECONDS)
        self._reap()
        left = psutil.Process().children(recursive=True)
        assert set(left) <= others, f"left behind: {left}"
        assert not self.socket.exists() or status != 0
        return status

    def kill(self) -> float:
        """Kills it without warning; the seconds until nothing of it was alive."""
        others = self._not_of_it()
        self._close_client()
        self.process.kill()
        killed_at = time.monotonic()
        self._reap()
        wait_for(lambda: not _not_reaped(others), "the end of the daemon's processes")
        return time.monotonic() - killed_at

    def restart(self) -> Self:
        """Starts it again, after it was killed or stopped."""
        return self.start()

    def remove(self) -> None:
        """Removes the folder, and the process if it runs."""
        if self.is_running:
            self.kill()
        self._close_client()
        shutil.rmtree(self.folder)

    def family(self) -> list[psutil.Process]:
        """Its guards and adapters, and what those have started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def submit(self, submission: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        """Submits a run that is taken; its view."""
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = self.client.post("/v1/runs", json=submission, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    def get(self, run: str) -> dict[str, Any]:
        """The run with its report."""
        answer = self.client.get(f"/v1/runs/{run}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def events(self, run: str, after: int = 0) -> Generator[Message, None, None]:
        """The run's events as they come; the stream ends with the generator."""
        headers = {"Last-Event-ID": str(after)}
        with self.client.stream("GET", f"/v1/runs/{run}/events", headers=headers) as answer:
            assert answer.status_code == 200
            yield from read_messages(answer.iter_lines())

    def wait_until(self, run: str, state: str) -> dict[str, Any]:
        """Waits until the run has this state; the run with its report."""
        wait_for(lambda: self.get(run)["state"] == state, f"that the run was {state}")
        return self.get(run)

    def wait_for_call(self, run: str, method: str = "step", step: int | None = 1) -> None:
        """Waits until this call has been made, as a follower is told; the stream is left then.

        The second step is where the zoo's adapters misbehave.
        """
        call = {"method": method, "step": step}
        with contextlib.closing(self.events(run)) as events:
            assert any(
                event.kind == "CallStarted" and event.data["call"] == call for event in events
            )

    def wait_until_over(self, run: str) -> dict[str, Any]:
        """Waits until the run has ended; the run with its report."""
        with contextlib.closing(self.events(run)) as events:
            for _ in events:
                pass
        return self.get(run)

    def cancel(self, run: str) -> dict[str, Any]:
        """Cancels the run; its view."""
        answer = self.client.post(f"/v1/runs/{run}/cancel")
        assert answer.status_code in {200, 202}, answer.text
        return dict(answer.json())

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """The status and the document of /readyz."""
        answer = self.client.get("/readyz")
        return answer.status_code, dict(answer.json())

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _not_of_it(self) -> set[psutil.Process]:
        mine = set(psutil.Process().children(recursive=True))
        its = {psutil.Process(self.process.pid)} if self.is_running else set()
        return mine - its - set(self.family())

    def _reap(self) -> None:
        self.process.wait(PATIENCE_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()


def read_messages(lines: Iterable[str]) -> Iterator[Message]:
    """The messages of an event stream; those that are comments alone are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Message(int(fields.get("id", "0")), fields["event"], json.loads(fields["data"]))
            fields = {}


def quick(**members: Any) -> dict[str, Any]:
    """A submission of a correct adapter that takes little time; `members` are more of it."""
    return zoo(**members)


def zoo(
    *behaviours: str, limits: Mapping[str, float] | None = None, **members: Any
) -> dict[str, Any]:
    """A submission of the zoo's adapter, such as zoo("step2=hang"); `members` are more of it."""
    command = [sys.executable, "-I", "-S", FAULTY, *behaviours]
    adapter = {"command": command, "cwd": "/"}
    return {"adapter": adapter, "limits": dict(limits or {}), **members}


def long(**members: Any) -> dict[str, Any]:
    """A submission of a correct adapter for the suite retryfuse: hundreds of cases."""
    adapter = {"module": FUSE_REFERENCE, "python": sys.executable, "cwd": "/"}
    return {"adapter": adapter, "suite": "retryfuse", **members}


def gated(gate: Path, **members: Any) -> dict[str, Any]:
    """A submission of a correct adapter that answers its second step once the file is there."""
    command = [sys.executable, "-I", "-S", GATED, FAULTY, str(gate)]
    adapter = {"command": command, "cwd": "/"}
    return {"adapter": adapter, "limits": {"callSeconds": 600}, **members}


def endless(**members: Any) -> dict[str, Any]:
    """A submission of an adapter that hangs in its second step, for as long as it is let."""
    return zoo(HANGING, limits={"callSeconds": 3600}, **members)


def _not_reaped(others: set[psutil.Process]) -> list[psutil.Process]:
    """What there still is of the processes that are not among the others; orphans are reaped."""
    left = set(psutil.Process().children(recursive=True)) - others
    _, still_there = psutil.wait_procs(left, timeout=0)
    return list(still_there)

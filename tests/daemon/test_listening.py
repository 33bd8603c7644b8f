"""The sockets that the daemon listens at, and those that it must not touch or take."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.daemon.listening import (
    UnixListener,
    activated_sockets,
    bind_loopback,
    bind_unix,
    unlink_unix,
)
from retryproof.errors import DaemonRunningError, FileError, InvalidArgumentsError

from tests.daemon.users import OTHER_USER, as_root

ACTIVATE = (sys.executable, str(Path(__file__).parent / "activate.py"))
REPORT_SOCKETS = """
import json, os, subprocess, sys
from retryproof.daemon.listening import activated_sockets
from retryproof.errors import InvalidArgumentsError
own_descriptors = set(os.listdir("/proc/self/fd"))
try:
    listeners = activated_sockets(os.environ)
except InvalidArgumentsError as error:
    print(json.dumps({"refused": error.message, "advice": error.advice}))
    raise SystemExit(2)
child = subprocess.run(
    ["sh", "-c", "ls -l /proc/self/fd; env"], capture_output=True, text=True, close_fds=False
)
print(json.dumps({"names": [list(s.getsockname()) if isinstance(s.getsockname(), tuple)
    else s.getsockname() for s in listeners], "child": child.stdout}), flush=True)
if sys.argv[1:] == ["serve"]:
    client, _ = listeners[0].accept()
    client.sendall(b"hello")
    client.close()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A private folder, with a short enough name for a socket's path."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    return folder


@contextmanager
def bound(path: Path) -> Iterator[UnixListener]:
    listener = bind_unix(path)
    try:
        yield listener
    finally:
        listener.socket.close()


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def leave_stale(path: Path) -> None:
    """What is left of a daemon that was killed."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))


def bind_at_once(path: Path, times: int) -> list[UnixListener | DaemonRunningError]:
    """What each of so many daemons gets that start at one time."""
    starts = threading.Barrier(times)
    outcomes: list[UnixListener | DaemonRunningError] = []

    def start() -> None:
        starts.wait()
        try:
            outcomes.append(bind_unix(path))
        except DaemonRunningError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=start) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == times
    return outcomes


class TestUnix:
    def test_the_socket_is_private_whatever_the_umask(self, folder: Path) -> None:
        previous = os.umask(0)
        try:
            with bound(folder / "s.sock"):
                about = os.lstat(folder / "s.sock")
                assert os.umask(0) == 0
        finally:
            os.umask(previous)
        assert stat.S_ISSOCK(about.st_mode)
        assert stat.S_IMODE(about.st_mode) == 0o600

    def test_its_mode_is_never_another_one(self, folder: Path) -> None:
        finished = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os, sys\n"
                "from pathlib import Path\n"
                "from retryproof.daemon import listening\n"
                "os.umask(0)\n"
                "os.chmod = os.fchmod = None\n"
                "listening.bind_unix(Path(sys.argv[1]))\n",
                str(folder / "s.sock"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        assert stat.S_IMODE(os.lstat(folder / "s.sock").st_mode) == 0o600

    def test_the_folder_is_made_private(self, tmp_path: Path) -> None:
        with bound(tmp_path / "new" / "s.sock"):
            assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700

    def test_a_folder_that_others_can_get_at(self, folder: Path) -> None:
        folder.chmod(0o755)
        with pytest.raises(FileError, match="mode 0755"):
            bind_unix(folder / "s.sock")
        assert list(folder.iterdir()) == []

    def test_it_answers_at_once(self, folder: Path) -> None:
        with bound(folder / "s.sock"):
            assert connects(folder / "s.sock")

    def test_programs_that_are_started_do_not_get_it(self, folder: Path) -> None:
        with bound(folder / "s.sock") as listener:
            assert not listener.socket.get_inheritable()

    def test_a_stale_one_is_replaced(self, folder: Path) -> None:
        leave_stale(folder / "s.sock")
        with bound(folder / "s.sock"):
            assert connects(folder / "s.sock")

    def test_one_that_is_answered_is_left_alone(self, folder: Path) -> None:
        with bound(folder / "s.sock"):
            before = os.lstat(folder / "s.sock")
            with pytest.raises(DaemonRunningError) as raised:
                bind_unix(folder / "s.sock")
            assert str(folder / "s.sock") in raised.value.message
            assert "--socket" in raised.value.advice
            assert os.lstat(folder / "s.sock") == before
            assert connects(folder / "s.sock")

    def test_one_whose_daemon_is_too_busy_to_accept_is_answered(self, folder: Path) -> None:
        path = folder / "s.sock"
        with socket.socket(socket.AF_UNIX) as busy:
            busy.bind(str(path))
            busy.listen(0)
            waiting = []
            while True:
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                waiting.append(client)
                if client.connect_ex(str(path)) != 0:
                    break
            with pytest.raises(DaemonRunningError):
                bind_unix(path)
            for client in waiting:
                client.close()

    def test_a_datagram_socket_in_use_is_left_alone(self, folder: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(str(folder / "s.sock"))
            with pytest.raises(DaemonRunningError):
                bind_unix(folder / "s.sock")

    @pytest.mark.parametrize("target", ["victim", "missing", "stale.sock"])
    def test_a_link_is_refused(self, folder: Path, target: str) -> None:
        (folder / "victim").write_text("precious")
        leave_stale(folder / "stale.sock")
        (folder / "s.sock").symlink_to(target)
        with pytest.raises(FileError, match="symbolic link"):
            bind_unix(folder / "s.sock")
        assert (folder / "s.sock").is_symlink()
        assert (folder / "victim").read_text() == "precious"
        assert (folder / "stale.sock").is_socket()

    def test_what_is_no_socket_is_never_removed(self, folder: Path) -> None:
        (folder / "file").write_text("precious")
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        for name in ("file", "folder", "pipe"):
            with pytest.raises(FileError, match="not a socket"):
                bind_unix(folder / name)
        assert (folder / "file").read_text() == "precious"
        assert len(list(folder.iterdir())) == 3

    def test_of_many_at_once_over_a_stale_one_exactly_one_gets_it(self, folder: Path) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)  # So that they get in each other's way.
        try:
            for _ in range(50):
                leave_stale(folder / "s.sock")
                outcomes = bind_at_once(folder / "s.sock", 8)
                (winner,) = [outcome for outcome in outcomes if isinstance(outcome, UnixListener)]
                assert connects(folder / "s.sock")
                unlink_unix(winner)
                winner.socket.close()
        finally:
            sys.setswitchinterval(interval)

    def test_a_path_that_cannot_be(self, folder: Path) -> None:
        with pytest.raises(FileError, match="can't be made"):
            bind_unix(folder / ("x" * 200))
        with pytest.raises(FileError, match="can't be made"):
            bind_unix(folder / ("x" * 300))

    def test_it_is_removed_at_the_end(self, folder: Path) -> None:
        with bound(folder / "s.sock") as listener:
            unlink_unix(listener)
        assert list(folder.iterdir()) == []
        unlink_unix(listener)

    def test_after_it_is_closed_too(self, folder: Path) -> None:
        with bound(folder / "s.sock") as listener:
            pass
        unlink_unix(listener)
        assert list(folder.iterdir()) == []

    def test_but_not_the_next_daemons(self, folder: Path) -> None:
        with bound(folder / "s.sock") as first:
            pass
        with bound(folder / "s.sock") as second:
            unlink_unix(first)
            assert connects(folder / "s.sock")
            unlink_unix(second)

    def test_nor_what_has_taken_its_place(self, folder: Path) -> None:
        with bound(folder / "s.sock") as listener:
            (folder / "s.sock").unlink()
            (folder / "s.sock").write_text("precious")
            unlink_unix(listener)
            assert (folder / "s.sock").read_text() == "precious"
            (folder / "s.sock").unlink()
            folder.rmdir()
            unlink_unix(listener)


class TestLoopback:
    @pytest.mark.parametrize(
        ("address", "host"),
        [
            ("127.0.0.1:0", "127.0.0.1"),
            ("127.1.2.3:0", "127.1.2.3"),
            ("localhost:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
        ],
    )
    def test_addresses(self, address: str, host: str) -> None:
        with bind_loopback(address) as listener:
            name = listener.getsockname()
            assert name[0] == host
            assert name[1] > 0
            with socket.socket(listener.family) as client:
                client.connect(name)

    @pytest.mark.parametrize(
        "address",
        [
            "0.0.0.0:0",
            "[::]:0",
            "192.168.1.1:0",
            "128.0.0.1:0",
            "example.com:0",
            "localhost.example.com:0",
            "localhost.:0",
            "127.0.0.1.example.com:0",
            "127.1:0",
            "0177.0.0.1:0",
            "2130706433:0",
            "127.0.0.1%lo:0",
            "[::ffff:127.0.0.1]:0",
            "[::1%lo]:0",
            "[fe80::1]:0",
            "[127.0.0.1]:0",
            "::1:0",
            "*:0",
            " 127.0.0.1:0",
        ],
    )
    def test_whatever_other_machines_might_reach_is_refused(self, address: str) -> None:
        with pytest.raises(InvalidArgumentsError) as raised:
            bind_loopback(address)
        assert repr(address) in raised.value.message
        assert "--listen" in raised.value.advice

    @pytest.mark.parametrize(
        "address",
        [
            "",
            ":",
            "8080",
            ":8080",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:http",
            "127.0.0.1:-1",
            "127.0.0.1:65536",
            "127.0.0.1:00000001234567",
            "127.0.0.1:0x50",
            "127.0.0.1: 80",
            "127.0.0.1:٨٠",
            "127.0.0.1:²",
            "127.0.0.1:" + "9" * 10_000,
            "http://127.0.0.1:80/",
        ],
    )
    def test_what_is_no_address(self, address: str) -> None:
        with pytest.raises(InvalidArgumentsError, match="is not HOST:PORT"):
            bind_loopback(address)

    @given(st.text(alphabet="0123456789.:[]%abcdeflocalhst") | st.text())
    def test_any_text_is_loopback_or_refused(self, address: str) -> None:
        try:
            with bind_loopback(address) as listener:
                host = listener.getsockname()[0]
        except InvalidArgumentsError:
            return
        assert host == "::1" or host.startswith("127.")

    def test_a_port_that_is_taken(self) -> None:
        with bind_loopback("127.0.0.1:0") as first:
            address = f"127.0.0.1:{first.getsockname()[1]}"
            with pytest.raises(InvalidArgumentsError) as raised:
                bind_loopback(address)
        assert f"already listens at {address}" in raised.value.message
        assert "another port" in raised.value.advice

    def test_it_can_be_had_again_at_once(self) -> None:
        with bind_loopback("127.0.0.1:0") as listener:
            name = listener.getsockname()
            with socket.socket() as client:
                client.connect(name)
                served, _ = listener.accept()
                served.close()  # So that the server's end is the one that waits.
                assert client.recv(1) == b""
        bind_loopback(f"127.0.0.1:{name[1]}").close()

    def test_programs_that_are_started_do_not_get_it(self) -> None:
        with bind_loopback("127.0.0.1:0") as listener:
            assert not listener.get_inheritable()


def activate(*sockets: str, serve: bool = False) -> subprocess.Popen[str]:
    """Has the launcher hand the sockets over to a program that says what it got."""
    command = [sys.executable, "-c", REPORT_SOCKETS, *(["serve"] if serve else [])]
    return subprocess.Popen(
        [*ACTIVATE, *sockets, "--", *command], stdout=subprocess.PIPE, text=True
    )


def report(*sockets: str) -> dict[str, Any]:
    with activate(*sockets) as process:
        assert process.stdout is not None
        document: dict[str, Any] = json.loads(process.stdout.read())
    return document


def report_changed(path: Path, change: str) -> dict[str, Any]:
    """What the program says that is started after a change to the socket's file."""
    change = f"import os, sys; path = {str(path)!r}; {change}; os.execv(sys.argv[1], sys.argv[1:])"
    command = [*ACTIVATE, str(path), "--", sys.executable, "-c", change]
    command += [sys.executable, "-c", REPORT_SOCKETS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        document: dict[str, Any] = json.loads(process.stdout.read())
    return document


class TestActivation:
    def test_sockets_of_all_kinds(self, folder: Path) -> None:
        got = report(str(folder / "s.sock"), "127.0.0.1:0", "::1:0")
        assert got["names"][0] == str(folder / "s.sock")
        assert [name[0] for name in got["names"][1:]] == ["127.0.0.1", "::1"]

    def test_a_client_is_answered_through_it(self, folder: Path) -> None:
        with activate(str(folder / "s.sock"), serve=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(folder / "s.sock"))
                assert client.recv(5) == b"hello"
            assert process.wait() == 0

    def test_started_programs_get_neither_sockets_nor_variables(self, folder: Path) -> None:
        got = report(str(folder / "s.sock"), "127.0.0.1:0")
        assert len(got["names"]) == 2
        assert "socket:" not in got["child"]
        assert "\nLISTEN_" not in got["child"]
        assert "PATH=" in got["child"]

    def test_the_file_stays(self, folder: Path) -> None:
        report(str(folder / "s.sock"))
        assert (folder / "s.sock").is_socket()

    @pytest.mark.parametrize("variable", ["LISTEN_PID=1", "LISTEN_PID=", "LISTEN_PID=x"])
    def test_what_is_for_another_process_is_not_taken(self, folder: Path, variable: str) -> None:
        got = report(variable, str(folder / "s.sock"))
        assert got["names"] == []
        assert "\nLISTEN_" not in got["child"]

    @pytest.mark.parametrize("number", ["", "-1", "x", "1.0", "017", "999999999", "9" * 9000])
    def test_a_number_that_is_none(self, folder: Path, number: str) -> None:
        got = report(f"LISTEN_FDS={number}", str(folder / "s.sock"))
        assert "LISTEN_FDS" in got["refused"]

    def test_fewer_than_promised(self, folder: Path) -> None:
        got = report("LISTEN_FDS=5", str(folder / "s.sock"))
        assert "is no socket" in got["refused"]

    @pytest.mark.parametrize(
        ("what", "problem"),
        [
            ("file", "is no socket"),
            ("datagram", "no listening stream socket"),
            ("silent", "no listening stream socket"),
            ("abstract", "no file whose mode"),
            ("0.0.0.0:0", "open to other machines"),
            (":::0", "open to other machines"),
        ],
    )
    def test_what_must_not_be_handed_over(self, folder: Path, what: str, problem: str) -> None:
        got = report(str(folder / "s.sock"), what)
        assert problem in got["refused"]
        assert got["advice"]

    def test_without_activation_there_are_none(self) -> None:
        environment = {"PATH": "/bin", "LISTEN_FDS": "1"}
        assert activated_sockets(environment) == []
        assert environment == {"PATH": "/bin"}
        environment = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0"}
        assert activated_sockets(environment) == []
        assert environment == {}

    @pytest.mark.parametrize("bits", [0o666, 0o660, 0o620, 0o602])
    def test_a_socket_that_others_may_connect_to(self, folder: Path, bits: int) -> None:
        got = report_changed(folder / "s.sock", f"os.chmod(path, {bits})")
        assert str(folder / "s.sock") in got["refused"]
        assert "SocketMode=0600" in got["advice"]

    @pytest.mark.parametrize("bits", [0o600, 0o644])
    def test_others_may_see_it(self, folder: Path, bits: int) -> None:
        got = report_changed(folder / "s.sock", f"os.chmod(path, {bits})")
        assert got["names"] == [str(folder / "s.sock")]

    @as_root
    def test_a_socket_of_another_user(self, folder: Path) -> None:
        got = report_changed(folder / "s.sock", f"os.chown(path, {OTHER_USER}, -1)")
        assert "the user's own systemd" in got["advice"]

    def test_a_socket_whose_file_is_gone(self, folder: Path) -> None:
        got = report_changed(folder / "s.sock", "os.unlink(path)")
        assert "is gone" in got["refused"]

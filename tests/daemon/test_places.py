"""Where the socket and the state folder are: as given, as the environment says, or the default."""

import os
from pathlib import Path

import pytest
from retryproof.errors import InvalidArgumentsError
from retryproof.places import MAX_SOCKET_PATH_BYTES, Places, default_places


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a runtime folder of their own for the defaults."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


def test_explicit_values_come_first(tmp_path: Path) -> None:
    environment = {"RETRYPROOF_SOCKET": "/not/this", "RETRYPROOF_STATE": "/not/this/either"}
    places = default_places(environment, str(tmp_path / "s.sock"), str(tmp_path / "state"))
    assert places == Places(tmp_path / "s.sock", tmp_path / "state")


def test_then_the_environment() -> None:
    environment = {"RETRYPROOF_SOCKET": "/a/s.sock", "RETRYPROOF_STATE": "/b"}
    assert default_places(environment) == Places(Path("/a/s.sock"), Path("/b"))


@pytest.mark.parametrize("environment", [{}, {"RETRYPROOF_SOCKET": "", "RETRYPROOF_STATE": ""}])
def test_then_the_users_folders(folders: Path, environment: dict[str, str]) -> None:
    places = default_places(environment, "", "")
    assert places.socket == folders / "run" / "retryproof" / "retryproof.sock"
    assert places.state == folders / "home" / ".local" / "state" / "retryproof"


def test_the_state_home_that_is_set(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folders / "elsewhere"))
    assert default_places({}).state == folders / "elsewhere" / "retryproof"


def test_without_a_runtime_folder_there_is_a_place_and_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    socket = default_places({}).socket
    assert socket.is_absolute()
    assert socket.parts[-2:] == ("retryproof", "retryproof.sock")


def test_nothing_is_made(folders: Path) -> None:
    default_places({})
    default_places({}, str(folders / "x" / "s.sock"), str(folders / "y"))
    assert [path.name for path in folders.iterdir()] == ["run"]
    assert list((folders / "run").iterdir()) == []


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_places({}, "s.sock", "state") == Places(tmp_path / "s.sock", tmp_path / "state")


def test_what_is_in_the_state_folder() -> None:
    places = Places(Path("/s"), Path("/state"))
    assert places.database == Path("/state/runs.sqlite3")
    assert places.token == Path("/state/token")
    assert places.lock == Path("/state/lock")


@pytest.mark.parametrize("letter", ["s", "é"])
def test_the_longest_socket_path(letter: str) -> None:
    room = MAX_SOCKET_PATH_BYTES - len("/tmp/")
    letters, rest = divmod(room, len(letter.encode()))
    longest = "/tmp/" + letter * letters + "x" * rest
    assert len(os.fsencode(longest)) == MAX_SOCKET_PATH_BYTES
    assert default_places({}, longest).socket == Path(longest)
    with pytest.raises(InvalidArgumentsError) as raised:
        default_places({}, longest + "x")
    assert f"{MAX_SOCKET_PATH_BYTES + 1} bytes" in raised.value.message
    assert "--socket" in raised.value.advice


def test_a_long_runtime_folder_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("d" * 200)))
    with pytest.raises(InvalidArgumentsError, match="bytes"):
        default_places({})
    assert default_places({}, "/tmp/short.sock").socket == Path("/tmp/short.sock")

"""Folders and files that nobody else can get at, or replace."""

import os
import stat
from pathlib import Path

import pytest
from retryproof.errors import FileError
from retryproof.private_files import ensure_private_folder, refuse_symlink, write_private

from tests.daemon.users import as_root, give_away


def mode(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def refused_folder(path: Path) -> FileError:
    with pytest.raises(FileError) as raised:
        ensure_private_folder(path)
    assert str(path) in raised.value.message
    return raised.value


def refused_file(path: Path) -> FileError:
    with pytest.raises(FileError) as raised:
        refuse_symlink(path)
    assert str(path) in raised.value.message
    assert raised.value.advice
    return raised.value


def with_mode(path: Path, bits: int) -> Path:
    path.chmod(bits)
    return path


@pytest.mark.parametrize("umask", [0, 0o777])
def test_a_missing_folder_is_made_private_with_those_above_it(tmp_path: Path, umask: int) -> None:
    previous = os.umask(umask)
    try:
        ensure_private_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(previous)
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_private_folder_is_accepted_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    (folder / "file").touch()
    ensure_private_folder(folder)
    assert (folder / "file").exists()


@pytest.mark.parametrize("bits", [0o701, 0o710, 0o720, 0o704, 0o755, 0o777])
def test_one_that_others_can_get_at_is_refused_and_left_so(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    error = refused_folder(with_mode(folder, bits))
    assert f"mode {bits:04o}" in error.message
    assert f"chmod 700 {folder}" in error.advice
    assert mode(folder) == bits


def test_advice_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "with space; and more"
    folder.mkdir()
    error = refused_folder(with_mode(folder, 0o755))
    assert error.advice.endswith(f"chmod 700 '{folder}'")


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(target)
    assert "symbolic link" in refused_folder(link).message


def test_a_dangling_link_is_not_followed_by_making_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    refused_folder(link)
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("below", ["", "state"])
def test_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    refused_folder(tmp_path / "file" / below)


def test_above_it_a_link_of_ones_own_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    ensure_private_folder(tmp_path / "link" / "state")
    assert mode(tmp_path / "real" / "state") == 0o700


def test_where_the_link_leads_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "real").mkdir()
    with_mode(tmp_path / "open", 0o777)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "link").symlink_to("../open/real")
    error = refused_folder(tmp_path / "links" / "link" / "state")
    assert f"{tmp_path}/links/../open" in error.message


@pytest.mark.parametrize("target", ["loop", "nowhere/at/all"])
def test_above_it_a_link_that_leads_nowhere(tmp_path: Path, target: str) -> None:
    (tmp_path / "loop").symlink_to(target)
    refused_folder(tmp_path / "loop" / "state")


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o702])
def test_below_a_folder_that_others_write_in(tmp_path: Path, bits: int) -> None:
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True)
    with_mode(shared, bits)
    for folder in (shared / "state", shared / "own" / "state"):
        error = refused_folder(folder)
        assert f"chmod go-w {shared}" in error.advice
        assert not folder.exists()


def test_below_a_sticky_one_nobody_else_can_replace_it(tmp_path: Path) -> None:
    ensure_private_folder(with_mode(tmp_path, 0o1777) / "state")


@as_root
def test_a_folder_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    assert "another user" in refused_folder(give_away(tmp_path / "theirs")).message


@as_root
def test_below_a_folder_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    error = refused_folder(give_away(tmp_path / "theirs") / "state")
    assert f"{tmp_path}/theirs" in error.message
    assert not (tmp_path / "theirs" / "state").exists()


@as_root
def test_above_it_a_link_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    give_away(tmp_path / "link")
    assert "another user" in refused_folder(tmp_path / "link" / "state").message


def test_a_private_file_has_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        write_private(tmp_path / "token", b"secret")
    finally:
        os.umask(previous)
    assert mode(tmp_path / "token") == 0o600
    assert (tmp_path / "token").read_bytes() == b"secret"
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_a_link_in_place_of_the_file_is_replaced(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    link = tmp_path / "token"
    link.symlink_to(victim)
    write_private(link, b"secret")
    assert victim.read_bytes() == b"precious"
    assert not link.is_symlink()
    assert link.read_bytes() == b"secret"


def test_an_open_file_is_replaced_and_its_readers_see_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"old")
    path.chmod(0o666)
    with path.open("rb") as reader:
        write_private(path, b"new")
        assert reader.read() == b"old"
    assert mode(path) == 0o600


@pytest.mark.parametrize("name", ["missing/token", "folder"])
def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="can't be written"):
        write_private(tmp_path / name, b"secret")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_private_file_or_none_is_accepted(tmp_path: Path) -> None:
    refuse_symlink(tmp_path / "missing")
    (tmp_path / "file").touch()
    refuse_symlink(with_mode(tmp_path / "file", 0o600))
    refuse_symlink(with_mode(tmp_path / "file", 0o400))


def test_links_dangling_ones_too_folders_and_pipes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o600)
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "dangling").symlink_to("missing")
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "symbolic link" in refused_file(tmp_path / "link").message
    assert "symbolic link" in refused_file(tmp_path / "dangling").message
    assert "not a regular file" in refused_file(tmp_path / "folder").message
    assert "not a regular file" in refused_file(tmp_path / "pipe").message


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o602, 0o644])
def test_a_file_that_others_can_get_at(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "runs.sqlite3"
    path.touch()
    assert f"chmod 600 {path}" in refused_file(with_mode(path, bits)).advice


@as_root
def test_a_file_of_another_user(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    path.touch(mode=0o600)
    assert "another user" in refused_file(give_away(path)).message

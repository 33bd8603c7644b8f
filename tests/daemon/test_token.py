"""The token is new at each start, long enough, and in a file for the user alone."""

import os
import stat
from pathlib import Path

import pytest
from retryproof.daemon.token import TOKEN_BYTES, renew_token
from retryproof.errors import FileError


def test_each_start_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "token"
    tokens = [renew_token(path) for _ in range(100)]
    assert len(set(tokens)) == 100
    assert all(len(token) >= TOKEN_BYTES * 4 / 3 for token in tokens)
    assert path.read_text() == f"{tokens[-1]}\n"


def test_only_the_user_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch()
    path.chmod(0o666)
    renew_token(path)
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600


def test_a_link_does_not_carry_it_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "public").touch()
    (tmp_path / "token").symlink_to("public")
    renew_token(tmp_path / "token")
    assert (tmp_path / "public").read_text() == ""


def test_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="can't be written"):
        renew_token(tmp_path / "missing" / "token")

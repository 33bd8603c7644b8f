"""Folders and files that nobody but the user can get at: made so, or refused."""

import contextlib
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .errors import FileError

_FOR_OTHERS = 0o077
_WRITABLE_BY_OTHERS = 0o022


def ensure_private_folder(path: Path) -> None:
    """Makes the folder with mode 0700, and the folders above it that are missing.

    One that is there already is accepted if it is the user's own and of no use to others, and if
    nobody else, root aside, can put another in its place.

    Raises:
        FileError: it is not so, with the way to mend it; or it can't be made.
    """
    path = path.absolute()
    with _as_file_error(f"The folder {path} can't be used"):
        for ancestor in reversed(path.parents):
            _make_if_missing(ancestor)
            _check_ancestor(ancestor, path)
        _make_if_missing(path)
        _check_folder(path)


def write_private(path: Path, data: bytes) -> None:
    """Writes a file of mode 0600, whole or not at all, in a folder that is there, onto the disk.

    Whatever has the name is replaced: a symbolic link is not followed.

    Raises:
        FileError: it can't be written; what was there is as it was.
    """
    with _as_file_error(f"The file {path} can't be written"):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _sync_folder(path.parent)


def refuse_symlink(path: Path) -> None:
    """For a file that code of others opens, which would follow a link: call it just before.

    A file that is not there is accepted: in a private folder nobody else can make it.

    Raises:
        FileError: it is no regular file, is not the user's own, or others can get at it.
    """
    with _as_file_error(f"The file {path} can't be used"), contextlib.suppress(FileNotFoundError):
        check_private_file(path, os.lstat(path))


def check_private_file(path: Path, about: os.stat_result) -> None:
    """Judges a file by what lstat or fstat says of it. Raises as `refuse_symlink`."""
    if stat.S_ISLNK(about.st_mode):
        raise FileError(
            f"{path} is a symbolic link, which is not followed.",
            "See where it leads, and remove it or put the file itself in its place.",
        )
    if not stat.S_ISREG(about.st_mode):
        raise FileError(f"{path} is not a regular file.", "Move it away, and try again.")
    _check_owner(path, about)
    if about.st_mode & _FOR_OTHERS:
        raise FileError(
            f"Other users can get at {path} ({_shown_mode(about)}).",
            f"Look whether they changed it, then: chmod 600 {shlex.quote(str(path))}",
        )


def _sync_folder(folder: Path) -> None:
    """Until then a new name may be gone after the loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_if_missing(folder: Path) -> None:
    if not os.path.lexists(folder):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)  # The umask may have taken even the user's own bits.


def _check_ancestor(ancestor: Path, path: Path) -> None:
    """Refuses one whose owner or writers could have another folder take the path's place."""
    about = os.lstat(ancestor)
    if about.st_uid not in (0, os.geteuid()):
        raise FileError(
            f"{path} is not safe: {ancestor}, on the way to it, belongs to another user"
            f" (user id {about.st_uid}), who could put another folder in its place.",
            "Name a place below a folder of your own.",
        )
    if stat.S_ISLNK(about.st_mode):
        os.stat(ancestor)  # A loop or a dead end is an OSError here, not an endless way.
        target = ancestor.parent / os.readlink(ancestor)
        for step in (*reversed(target.parents), target):
            _check_ancestor(step, path)
    elif about.st_mode & _WRITABLE_BY_OTHERS and not about.st_mode & stat.S_ISVTX:
        raise FileError(
            f"{path} is not safe: other users can write in {ancestor} ({_shown_mode(about)}),"
            " and could put another folder in its place.",
            f"Name another place, or: chmod go-w {shlex.quote(str(ancestor))}",
        )


def _check_folder(path: Path) -> None:
    about = os.lstat(path)
    if stat.S_ISLNK(about.st_mode):
        raise FileError(
            f"{path} is a symbolic link, which is not followed.",
            "Name the folder that it leads to, if that is the one.",
        )
    if not stat.S_ISDIR(about.st_mode):
        raise FileError(f"{path} is not a folder.", "Name another place, or move it away.")
    _check_owner(path, about)
    if about.st_mode & _FOR_OTHERS:
        # Whoever follows "chmod 700 /tmp" as root has broken the machine.
        raise FileError(
            f"Other users can get at the folder {path} ({_shown_mode(about)}).",
            f"Name a folder of its own, such as {path / 'retryproof'}; or, if this one is used"
            f" for nothing else: chmod 700 {shlex.quote(str(path))}",
        )


def _check_owner(path: Path, about: os.stat_result) -> None:
    if about.st_uid != os.geteuid():
        raise FileError(
            f"{path} belongs to another user (user id {about.st_uid}).",
            "Name a place of your own.",
        )


def _shown_mode(about: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(about.st_mode):04o}"


@contextlib.contextmanager
def _as_file_error(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"{what}: {error.strerror}.") from None

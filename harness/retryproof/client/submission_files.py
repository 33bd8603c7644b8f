"""The private files with what is known of each submission whose answer is not in."""

from pathlib import Path

import msgspec

from ..errors import FileError
from ..private_files import ensure_private_folder, write_private
from .submitting import SubmissionRecord, Unfinished

_FOLDER = "submissions"


class SubmissionFiles:
    """One file a submission, in a folder of the state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / _FOLDER

    def path_of(self, key: str) -> Path:
        """Where the submission with this key is kept."""
        return self._folder / f"{key}.json"

    def write(self, record: SubmissionRecord) -> None:
        """Keeps what is known; it is on the disk when this returns.

        Raises:
            FileError: it can't be written, or others could get at the folder.
        """
        ensure_private_folder(self._folder)
        write_private(self.path_of(record.key), msgspec.json.encode(record))

    def remove(self, key: str) -> None:
        """Forgets the submission: its answer is in.

        Raises:
            FileError: the file can't be removed.
        """
        file = self.path_of(key)
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise FileError(f"The file {file} can't be removed: {error.strerror}.") from None

    def unfinished(self) -> list[Unfinished]:
        """The submissions whose answer is not in, the oldest first; one may be on its way now.

        A file that can't be read as one is left out.
        """
        found = []
        for file in self._folder.glob("*.json"):
            try:
                record = msgspec.json.decode(file.read_bytes(), type=SubmissionRecord)
            except (OSError, msgspec.DecodeError):
                continue
            found.append(Unfinished(str(file), record))
        return sorted(found, key=lambda unfinished: unfinished.record.created_at)

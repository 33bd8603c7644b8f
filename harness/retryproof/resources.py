"""The data that is shipped once: beside the package in a wheel, at the top level in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent
_SHIPPED = _PACKAGE / "_data"


def path_of(name: str) -> Path:
    """Where a shipped file is, such as `fixtures/contract.json` or `adapters/node/host.mjs`."""
    if _SHIPPED.is_dir():
        return _SHIPPED / name
    return _CHECKOUT / name


def read_bytes(name: str) -> bytes:
    """The content of a shipped file.

    Raises:
        OSError: it is not there: the installation is damaged.
    """
    return path_of(name).read_bytes()

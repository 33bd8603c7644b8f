"""Deciding what a run does next. Pure: the shell in `suite` does it and reports back."""

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace


class Launch(Struct, frozen=True):
    """Start a fresh adapter process."""


class RunCase(Struct, frozen=True):
    """Run this case in the process that is there."""

    name: str


class ShutDown(Struct, frozen=True):
    """Tell the process to leave."""


class Finish(Struct, frozen=True):
    """Nothing is left to do."""


Action: TypeAlias = Launch | RunCase | ShutDown | Finish


class Progress(Struct, frozen=True):
    """Where a run stands: the cases that are still to be run, and whether a process is there."""

    remaining: tuple[str, ...]
    keep_going: bool = False
    has_process: bool = False


def decide(progress: Progress) -> Action:
    """The next action."""
    if progress.remaining:
        return RunCase(progress.remaining[0]) if progress.has_process else Launch()
    return ShutDown() if progress.has_process else Finish()


def launched(progress: Progress) -> Progress:
    """A process is there, and ready."""
    return replace(progress, has_process=True)


def not_launched(progress: Progress) -> Progress:
    """No process could be had. The next one would fare no better, so the run ends here."""
    return replace(progress, remaining=(), has_process=False)


def case_completed(progress: Progress) -> Progress:
    """Each step of the case was answered, rightly or wrongly."""
    return replace(progress, remaining=progress.remaining[1:])


def case_broken_off(progress: Progress) -> Progress:
    """A call of the case has no usable answer, and its process is dead."""
    left = progress.remaining[1:] if progress.keep_going else ()
    return replace(progress, remaining=left, has_process=False)


def shut_down(progress: Progress) -> Progress:
    """The process has left."""
    return replace(progress, has_process=False)

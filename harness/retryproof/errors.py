"""The one tree of errors. Each knows its exit status, and whether what it leaves is definite.

An error is definite if it is certain that the pending call had no effect on the adapter's
service. When in doubt, indefinite is always safe.
"""

from typing import ClassVar, Literal, TypeAlias

EXIT_PASS = 0
EXIT_FAILED = 1
EXIT_INVALID_ARGUMENTS = 2
EXIT_INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h: a bug in retryproof itself."""
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as a shell reports it."""
EXIT_TERMINATED = 143
"""128 + SIGTERM."""


FailureKind: TypeAlias = Literal[
    "timeout", "malformed", "crash", "adapter-error", "launch", "version", "limit", "interrupted"
]
"""The protocol's failure kinds, and `interrupted` for a call that a cancellation cut short."""


class RetryproofError(Exception):
    """Anything that retryproof reports instead of doing what it was asked.

    Attributes:
        message: what happened, as whole sentences.
        advice: what to do about it, as whole sentences; may be empty.
    """

    exit_status: ClassVar[int] = EXIT_FAILED
    definite: ClassVar[bool] = True

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class InvalidArgumentsError(RetryproofError):
    """The command can't be run as it was written."""

    exit_status = EXIT_INVALID_ARGUMENTS


class FileError(RetryproofError):
    """A file that the user named can't be read or written."""

    exit_status = EXIT_INVALID_ARGUMENTS


class AdapterError(RetryproofError):
    """The adapter did not do its part. `kind` is the failure kind of the protocol."""

    kind: ClassVar[FailureKind]
    definite = False


class CallTimeoutError(AdapterError):
    """A call had no whole answer at its deadline; the process tree was killed."""

    kind = "timeout"


class MalformedAnswerError(AdapterError):
    """The adapter wrote something that the protocol does not allow."""

    kind = "malformed"


class AdapterCrashError(AdapterError):
    """The adapter's process ended while it was still needed."""

    kind = "crash"


class AdapterRefusalError(AdapterError):
    """The adapter answered with a JSON-RPC error."""

    kind = "adapter-error"


class LaunchError(AdapterError):
    """The adapter could not be started, or never answered `initialize`."""

    kind = "launch"
    definite = True


class VersionError(AdapterError):
    """The adapter speaks another version of the protocol."""

    kind = "version"
    definite = True


class LimitError(AdapterError):
    """The adapter used more than it is allowed to, and was killed."""

    kind = "limit"

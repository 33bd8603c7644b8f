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


class StoreError(RetryproofError):
    """The database can't be used."""


class StoreUnavailableError(StoreError):
    """The database can't be used now: its disk is full, or somebody else has it."""


class StoreRefusedError(StoreError):
    """The database must not be used: it is damaged, or not for this version to write."""


class DaemonRunningError(RetryproofError):
    """Another daemon has what this one needs: its state folder, or its socket."""


class DaemonUnavailableError(RetryproofError):
    """No daemon took the request: there is none, or it is not for this user to use."""


class LostConnectionError(RetryproofError):
    """A daemon took the request, or may have, and its whole answer did not arrive.

    Attributes:
        timed_out: whether the connection was still there, and only the time was up.
    """

    definite = False

    def __init__(self, message: str, advice: str = "", *, timed_out: bool = False) -> None:
        super().__init__(message, advice)
        self.timed_out = timed_out


class DaemonRefusalError(RetryproofError):
    """The daemon answered that it will not, or can't.

    Attributes:
        status: the answer's HTTP status, from 400 on.
        code: the problem's name, for programs.
        retry_after_seconds: when to ask again, if the daemon said so.
    """

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        status: int,
        code: str,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, advice)
        self.status = status
        self.code = code
        self.retry_after_seconds = retry_after_seconds


class DaemonAnswerError(RetryproofError):
    """The daemon's answer is not in form."""

    definite = False


class NotSubmittedError(RetryproofError):
    """No daemon took the run, in several attempts."""


class SubmissionInDoubtError(RetryproofError):
    """Whether a run was submitted could not be found out."""

    definite = False


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

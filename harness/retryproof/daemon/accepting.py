"""From a submission to a run that can be kept, and driven at any later time."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace
from retryproof_protocol.quoting import escape_controls

from ..api.reading import MalformedBodyError
from ..api.submission import AdapterSubmission, OnInterrupt, RunSubmission
from ..app import RunRequest
from ..contract.profile import PROFILES, SEED, Profile, ProfileError, read_profile
from ..errors import RetryproofError
from ..http_adapter.config import read_service
from ..suites import Suite
from ..supervise.launch import (
    Launch,
    Sandbox,
    Surroundings,
    http_service,
    module,
    program,
)
from ..supervise.limits import Limits
from ..supervise.sandbox import sandboxed


class KeptRun(Struct, frozen=True):
    """All that driving a run takes, as it was when it was accepted."""

    request: RunRequest
    on_interrupt: OnInterrupt

    def encode(self) -> bytes:
        """As it is kept in the store."""
        return msgspec.json.encode(self)

    def encode_without_secrets(self) -> bytes:
        """As it is kept once it is over: the values of its variables may be secrets."""
        launch = self.request.launch
        environment = dict.fromkeys(launch.command.environment, "")
        command = replace(launch.command, environment=environment)
        request = replace(self.request, launch=replace(launch, command=command))
        return replace(self, request=request).encode()


def decode_kept(content: bytes) -> KeptRun:
    """The run that was kept."""
    return msgspec.json.decode(content, type=KeptRun)


def prepare(submission: RunSubmission, suite: Suite[Any]) -> KeptRun:
    """The run, with everything looked up that it names. Touches the file system.

    Raises:
        MalformedBodyError: there is no such file, case, profile or interpreter.
    """
    _require_suite_of(submission)
    with _refusing_at("profile"):
        profile = _profile(submission.profile)
    with _refusing_at("cases"):
        suite.scripts(submission.cases, profile)
    with _refusing_at("adapter"):
        launch = _launch(submission.adapter)
    request = RunRequest(
        launch=launch,
        cases=submission.cases,
        limits=Limits(**asdict(submission.limits)),
        keep_going=submission.keep_going,
        profile=profile,
    )
    return KeptRun(request, submission.on_interrupt)


def _require_suite_of(submission: RunSubmission) -> None:
    """The other suite has neither requests nor dialects."""
    if submission.suite == "retry":
        return
    if submission.adapter.http is not None:
        raise MalformedBodyError("adapter.http", "An HTTP service is for the suite retry.")
    if submission.profile != SEED.name:
        raise MalformedBodyError("profile", "A profile is for the suite retry.")


def describe(adapter: AdapterSubmission) -> str:
    """The adapter in a line, for lists; safe to show."""
    return escape_controls(adapter.module or adapter.http or shlex.join(adapter.command or ()))


def _launch(adapter: AdapterSubmission) -> Launch:
    launch = _bare_launch(adapter)
    if adapter.sandbox is None:
        return launch
    return sandboxed(launch, Sandbox(**asdict(adapter.sandbox)))


def _bare_launch(adapter: AdapterSubmission) -> Launch:
    if adapter.http is not None:
        read_service(Path(adapter.http))
        return http_service(adapter.http, adapter.environment, adapter.inherited)
    surroundings = Surroundings(adapter.cwd or "/", adapter.environment, adapter.inherited)
    if adapter.module is not None:
        return module(adapter.module, surroundings, adapter.python)
    return program(adapter.command or (), surroundings)


def _profile(wanted: str | dict[str, Any]) -> Profile:
    if isinstance(wanted, str):
        if wanted not in PROFILES:
            raise ProfileError(f"There is no profile {wanted}. There are {', '.join(PROFILES)}.")
        return PROFILES[wanted]
    table = dict(wanted)
    name = table.pop("name", None)
    if not isinstance(name, str):
        raise ProfileError("A profile of its own has a name.")
    return read_profile(name, table)


@contextmanager
def _refusing_at(path: str) -> Iterator[None]:
    try:
        yield
    except RetryproofError as error:
        raise MalformedBodyError(
            path, " ".join(filter(None, (error.message, error.advice)))
        ) from None
    except ProfileError as error:
        raise MalformedBodyError(path, str(error)) from None

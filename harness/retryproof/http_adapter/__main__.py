"""`python -m retryproof.http_adapter SERVICE.toml`: what `retryproof run --http` starts."""

import sys
from contextlib import ExitStack
from pathlib import Path

from ..errors import RetryproofError
from .adapter import HTTPAdapter
from .answers import CallError
from .client import Client
from .config import read_service
from .log import Log
from .programs import StartedService
from .serving import serve, take_over_stdio


def main(file: str) -> None:
    """Serves until it is told to leave. What is wrong with the file is said to the runner."""
    requests, answers = take_over_stdio()
    log = Log()
    with ExitStack() as at_the_end:
        serve(_prepare(Path(file), log, at_the_end), log, requests, answers)


def _prepare(file: Path, log: Log, at_the_end: ExitStack) -> HTTPAdapter | CallError:
    try:
        service = read_service(file)
    except RetryproofError as error:
        return CallError("SERVICE.toml", error.message)
    try:
        if service.start is None:
            client = Client(service.base_url, lambda: "Is the service running?", log)
        else:
            process = StartedService(service.start, service.base_url)
            at_the_end.callback(process.stop)
            client = Client(service.base_url, process.describe, log)
            process.wait_until_it_answers(service.base_url, service.start.within_seconds)
    except CallError as error:
        return error
    at_the_end.callback(client.close)
    return HTTPAdapter(service, client, log)


if __name__ == "__main__":
    main(sys.argv[1])

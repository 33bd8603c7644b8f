"""The daemon itself, with a clock that a test sets, and with a fault of the contract if asked for.

    python3 clocked_daemon.py --socket PATH --state DIR [--fault NAME]

`POST /clock` with {"now": TICK}, at the address that ends the line it prints, sets the clock. A
key of the contract lives for six ticks, and one of the daemon for a day: a tick is four hours.
"""

import argparse
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias

import click
from retryproof.daemon.operations.runs import RunsApi
from retryproof.daemon.server import ServeOptions, serve
from retryproof.places import Places
from retryproof.store import runs
from retryproof.store.idempotency import RETENTION_SECONDS, KeyRecord, Ruling, rule
from starlette.requests import Request
from starlette.responses import Response

TICK_SECONDS = 4 * 60 * 60
TICK_ZERO = 1_750_000_000
"""The Unix time of tick 0."""

Rule: TypeAlias = Callable[[KeyRecord | None, str, float], Ruling]


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self._tick = 0.0

    def set(self, tick: float) -> None:
        """Puts it to this tick, or to a moment between two."""
        self._tick = tick

    def now(self) -> float:
        """The Unix time."""
        return TICK_ZERO + self._tick * TICK_SECONDS


@contextmanager
def settable(clock: Clock) -> Iterator[str]:
    """Lets others set the clock, at the address that this gives."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            clock.set(json.loads(self.rfile.read(length))["now"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/clock"
        server.shutdown()
        thread.join()


def lives_for(seconds: float) -> Rule:
    """Keys live for so long."""

    def changed(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
        return rule(record, fingerprint, now + RETENTION_SECONDS - seconds)

    return changed


def sliding_expiry() -> Rule:
    """Each replay extends the life of its key."""
    used_at: dict[str, float] = {}

    def changed(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
        if record is None:
            return "create"
        at = used_at.get(record.run, record.created_at)
        ruling = rule(KeyRecord(record.fingerprint, record.run, at), fingerprint, now)
        if ruling == "replay":
            used_at[record.run] = now
        return ruling

    return changed


def body_blind(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
    """A changed body is answered as the first one."""
    return rule(record, fingerprint if record is None else record.fingerprint, now)


def duplicate_write(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
    """The same body makes another run each time."""
    ruling = rule(record, fingerprint, now)
    return "create" if ruling == "replay" else ruling


def forget_on_loss() -> Rule:
    """A key is forgotten if its answer does not arrive, which a header of the request tells."""
    forgotten: set[str] = set()
    submit = RunsApi.submit

    async def submit_and_forget(self: RunsApi, request: Request) -> Response:
        response = await submit(self, request)
        if request.headers["X-Delivery"] == "lost" and response.status_code < 400:
            forgotten.add(response.headers["Location"].rpartition("/")[2])
        return response

    def changed(record: KeyRecord | None, fingerprint: str, now: float) -> Ruling:
        known = None if record is None or record.run in forgotten else record
        return rule(known, fingerprint, now)

    RunsApi.submit = submit_and_forget  # type: ignore[method-assign]
    return changed


FAULTS: dict[str, Callable[[], Rule]] = {
    "duplicate-write": lambda: duplicate_write,
    "body-blind": lambda: body_blind,
    "sliding-expiry": sliding_expiry,
    "forget-on-loss": forget_on_loss,
    "a second too long": lambda: lives_for(RETENTION_SECONDS + 1),
    "a tick too short": lambda: lives_for(RETENTION_SECONDS - TICK_SECONDS),
}
"""The four of the contract, by its names, and two that it has no name for."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--fault", choices=FAULTS)
    arguments = parser.parse_args()
    if arguments.fault is not None:
        vars(runs)["rule"] = FAULTS[arguments.fault]()
    clock = Clock()
    places = Places(arguments.socket, arguments.state)
    options = ServeOptions(places, listen="127.0.0.1:0", jobs=1, now=clock.now)
    with settable(clock) as address:
        serve(options, lambda line: click.echo(f"{line}; clock: {address}"))


if __name__ == "__main__":
    main()

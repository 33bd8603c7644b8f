"""One daemon: everything that is needed for it is put together, and taken down, here."""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import anyio
from msgspec import Struct
from starlette.types import ASGIApp

from .. import __version__, app
from ..places import Places
from ..private_files import ensure_private_folder, refuse_symlink
from ..store.database import Database
from ..store.runs import RunStore
from ..supervise.interruption import stop_signals
from .access import AccessControl, AccessPolicy, SecurityHeaders, own_hosts
from .application import make_application
from .connections import QuietServer, server_config
from .engine import Engine
from .listening import activated_sockets, bind_loopback, bind_unix, unlink_unix
from .lock import DaemonDescription, hold_lock
from .metrics import Metrics
from .operations.pure import PureApi
from .operations.runs import RunsApi
from .operations.state import StateApi
from .token import renew_token

_logger = logging.getLogger(__name__)


class ServeOptions(Struct, frozen=True):
    """How the daemon is to be.

    Attributes:
        places: its socket, and the folder of all that it keeps.
        listen: a loopback HOST:PORT besides.
        jobs: how many runs it drives at a time.
        now: tells the Unix time, by which idempotency keys expire.
    """

    places: Places
    listen: str | None
    jobs: int
    now: Callable[[], float] = time.time


class Listeners(Struct, frozen=True):
    """Where clients come in."""

    unix: tuple[socket.socket, ...]
    tcp: tuple[socket.socket, ...]


def serve(options: ServeOptions, tell: Callable[[str], object]) -> None:
    """Runs the daemon until SIGTERM or Ctrl-C; `tell` gets a line when it is ready.

    Raises:
        DaemonRunningError: another one has the state folder or the socket.
        FileError: a file or folder is not as safe as it must be, or can't be made.
        InvalidArgumentsError: it can't listen there.
        StoreError: the database can't be used.
    """
    with ExitStack() as stack:
        places = options.places
        ensure_private_folder(places.state)
        description = DaemonDescription(os.getpid(), str(places.socket))
        stack.callback(hold_lock(places.lock, description).release)
        refuse_symlink(places.database)
        database = Database(places.database)
        stack.callback(database.close)
        listeners = stack.enter_context(_listening(options))
        anyio.run(_serve, options, RunStore(database), listeners, tell)


async def _serve(
    options: ServeOptions, store: RunStore, listeners: Listeners, tell: Callable[[str], object]
) -> None:
    bundle = app.contract_bundle()
    metrics = Metrics()
    engine = Engine(store, app.suite_named, options.jobs, options.now, metrics.count)
    engine.load()
    application = make_application(
        (
            *RunsApi(engine, store).operations(),
            *PureApi(bundle).operations(),
            *StateApi(engine, metrics).operations(),
        )
    )
    servers = [(_server(application), listeners.unix)]
    line = f"retryproof {__version__} is ready at {_names(listeners.unix)}"
    if listeners.tcp:
        addresses = [listener.getsockname()[:2] for listener in listeners.tcp]
        policy = AccessPolicy(own_hosts(addresses), renew_token(options.places.token))
        servers.append((_server(AccessControl(application, policy)), listeners.tcp))
        urls = ", ".join(f"http://{_shown_host(host)}:{port}" for host, port in addresses)
        line += f" and {urls} (bearer token: {options.places.token})"
    async with stop_signals() as wait_for_signal, anyio.create_task_group() as group:
        async with anyio.create_task_group() as work:
            await work.start(engine.work)
            for server, sockets in servers:
                group.start_soon(server.serve, list(sockets))
            tell(line)
            name = await wait_for_signal()
            _logger.info("%s: stopping", name)
            engine.stop()
        for server, _ in servers:
            server.should_exit = True


def _server(application: ASGIApp) -> QuietServer:
    return QuietServer(server_config(SecurityHeaders(application)))


@contextmanager
def _listening(options: ServeOptions) -> Iterator[Listeners]:
    with ExitStack() as stack:
        activated = activated_sockets(os.environ)
        unix = [listener for listener in activated if listener.family == socket.AF_UNIX]
        tcp = [listener for listener in activated if listener.family != socket.AF_UNIX]
        for listener in activated:
            stack.enter_context(listener)
        if not unix:
            bound = bind_unix(options.places.socket)
            stack.enter_context(bound.socket)
            stack.callback(unlink_unix, bound)
            unix.append(bound.socket)
        if options.listen is not None:
            tcp.append(stack.enter_context(bind_loopback(options.listen)))
        yield Listeners(tuple(unix), tuple(tcp))


def _names(listeners: tuple[socket.socket, ...]) -> str:
    return ", ".join(str(listener.getsockname()) for listener in listeners)


def _shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host

"""Replies of a small server that stands before a real daemon."""

from collections.abc import Callable

import httpx2

from tests.client.small_server import Handler, Reply
from tests.daemon.running import Daemon

_PASSED_ON = ("Idempotency-Key", "Content-Type")


def passes_on(daemon: Daemon) -> Reply:
    """Gets the answer from the daemon, and gives it."""

    def reply(handler: Handler) -> None:
        answer = _ask(daemon, handler)
        handler.answer(answer.status_code, answer.content)

    return reply


def loses_the_answer(daemon: Daemon, then: Callable[[], object] = lambda: None) -> Reply:
    """Has the daemon take the request, and breaks off."""

    def reply(handler: Handler) -> None:
        assert _ask(daemon, handler).is_success
        then()

    return reply


def loses_the_request(then: Callable[[], object] = lambda: None) -> Reply:
    """Breaks off before the daemon sees anything of it."""
    return lambda _handler: _call(then)


def _call(then: Callable[[], object]) -> None:
    then()


def _ask(daemon: Daemon, handler: Handler) -> httpx2.Response:
    asked = handler.request_read
    headers = {name: asked.headers[name] for name in _PASSED_ON if name in asked.headers}
    with daemon.new_client() as client:
        return client.request(asked.method, asked.target, content=asked.body, headers=headers)

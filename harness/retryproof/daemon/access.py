"""What a request over TCP must show before anything is done for it.

Any page in a browser can send requests to a loopback port, and any user of the machine can; over
a Unix socket nobody can whom the socket's mode keeps out. `refusal` decides; the rest is ASGI.
"""

import hmac
from collections.abc import Iterable

from msgspec import Struct
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem_response

OPEN = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/contract"),
        ("POST", "/v1/check"),
        ("POST", "/v1/reduce"),
        ("POST", "/v1/compare"),
        ("POST", "/v1/fuse"),
    }
)
"""What needs no token: it reads the pure parts, and neither runs nor shows anything of the user's.

An exact set: another spelling of one of these may reach it, but needs the token for it.
"""

_HTTP_PORT = 80
_CHALLENGE = (("WWW-Authenticate", "Bearer"),)
_HOW_TO_AUTHORIZE = (
    "Send `Authorization: Bearer TOKEN`, with the token in the token file that `retryproof serve`"
    " names when it starts; each start makes a new one."
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class RequestFacts(Struct, frozen=True):
    """What the decision depends on. Each header as often as it was sent.

    `path` is the one that the router goes by: decoded, without the query.
    """

    method: str
    path: str
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    authorizations: tuple[str, ...] = ()
    content_types: tuple[str, ...] = ()


class AccessPolicy(Struct, frozen=True):
    """The values of Host that are the daemon's own, in lower case, and the token."""

    hosts: frozenset[str]
    token: str


class Refusal(Struct, frozen=True):
    """Why a request is turned away, as it is answered."""

    status: int
    code: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()


def own_hosts(addresses: Iterable[tuple[str, int]]) -> frozenset[str]:
    """The values of Host by which listeners at these loopback addresses and ports are called."""
    return frozenset(host for address in addresses for host in _hosts_at(*address))


def refusal(request: RequestFacts, policy: AccessPolicy) -> Refusal | None:
    """Why the request is refused, or None if it may pass."""
    return (
        _refused_host(request, policy)
        or _refused_origin(request, policy)
        or _refused_form(request)
        or _refused_token(request, policy)
    )


class AccessControl:
    """Lets only those requests through to the app that the policy allows. For TCP listeners."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a refused request itself. Nothing but HTTP gets through."""
        if scope["type"] != "http":
            raise RuntimeError(f"There is no access control for {scope['type']!r}.")
        refused = refusal(_facts(scope), self._policy)
        if refused is None:
            await self._app(scope, receive, send)
            return
        response = problem_response(
            refused.status, refused.code, refused.message, headers=dict(refused.headers)
        )
        await response(scope, receive, send)


class SecurityHeaders:
    """Adds to every answer what keeps a browser from making anything else of it.

    Goes around `AccessControl`, whose refusals are answers too. An app may choose its own
    Cache-Control.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on, and adds the headers to the start of the answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _hosts_at(address: str, port: int) -> Iterable[str]:
    bracketed = f"[{address}]" if ":" in address else address
    for host in ("127.0.0.1", "localhost", "[::1]", bracketed):
        yield f"{host}:{port}"
        if port == _HTTP_PORT:  # which clients leave out
            yield host


def _refused_host(request: RequestFacts, policy: AccessPolicy) -> Refusal | None:
    if len(request.hosts) == 1 and request.hosts[0].lower() in policy.hosts:
        return None
    return Refusal(
        421,
        "host-not-allowed",
        "The request needs one Host header, with a name by which this daemon is called:"
        f" {', '.join(sorted(policy.hosts))}.",
    )


def _refused_origin(request: RequestFacts, policy: AccessPolicy) -> Refusal | None:
    allowed = {f"http://{host}" for host in policy.hosts}
    if len(request.origins) <= 1 and allowed.issuperset(request.origins):
        return None
    return Refusal(
        403,
        "origin-not-allowed",
        "The request comes from a page of another origin, which may not use this daemon."
        " From a program, send no Origin header.",
    )


def _refused_form(request: RequestFacts) -> Refusal | None:
    # A page may send forms and plain text anywhere without asking, but not this type.
    types = [value.partition(";")[0].strip(" \t").lower() for value in request.content_types]
    if request.method != "POST" or types == ["application/json"]:
        return None
    return Refusal(415, "not-json", "Send the body with `Content-Type: application/json`.")


def _refused_token(request: RequestFacts, policy: AccessPolicy) -> Refusal | None:
    if len(request.authorizations) > 1:
        return Refusal(400, "header-repeated", "Send one Authorization header only.")
    if (request.method, request.path) in OPEN:
        return None
    scheme, _, shown = "".join(request.authorizations).partition(" ")
    if scheme.lower() != "bearer":
        message = f"This call needs the daemon's token. {_HOW_TO_AUTHORIZE}"
        return Refusal(401, "token-missing", message, _CHALLENGE)
    if hmac.compare_digest(shown.strip(" ").encode(), policy.token.encode()):
        return None
    message = f"The token is not this daemon's. {_HOW_TO_AUTHORIZE}"
    return Refusal(401, "token-wrong", message, _CHALLENGE)


def _facts(scope: Scope) -> RequestFacts:
    values: dict[bytes, list[str]] = {}
    for name, value in scope["headers"]:
        values.setdefault(name.lower(), []).append(value.decode("latin-1"))
    return RequestFacts(
        scope["method"],
        scope["path"],
        hosts=tuple(values.get(b"host", ())),
        origins=tuple(values.get(b"origin", ())),
        authorizations=tuple(values.get(b"authorization", ())),
        content_types=tuple(values.get(b"content-type", ())),
    )

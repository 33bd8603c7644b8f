"""Each rule of access over TCP with attacks that fail: on the decision, and on a real server."""

import json
import socket
import string
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from retryproof.daemon.access import (
    OPEN,
    AccessControl,
    AccessPolicy,
    RequestFacts,
    SecurityHeaders,
    own_hosts,
    refusal,
)
from retryproof.daemon.listening import bind_loopback
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.daemon.raw_http import Answer, connect, exchange, read_answer, served

TOKEN = "the-token_of-this-start"
PORT = 8123
POLICY = AccessPolicy(own_hosts([("127.0.0.1", PORT)]), TOKEN)
HOST = f"127.0.0.1:{PORT}"
BEARER = f"Bearer {TOKEN}"
JSON = "application/json"

READ = RequestFacts("GET", "/v1/runs", hosts=(HOST,), authorizations=(BEARER,))
SUBMIT = RequestFacts(
    "POST", "/v1/runs", hosts=(HOST,), authorizations=(BEARER,), content_types=(JSON,)
)
HEALTH = RequestFacts("GET", "/healthz", hosts=(HOST,))
CHECK = RequestFacts("POST", "/v1/check", hosts=(HOST,), content_types=(JSON,))
ALL_SORTS = (READ, SUBMIT, HEALTH, CHECK)


def code(request: RequestFacts, policy: AccessPolicy = POLICY) -> str | None:
    refused = refusal(request, policy)
    return None if refused is None else refused.code


class TestDecision:
    def test_what_is_in_order_passes(self) -> None:
        for request in ALL_SORTS:
            assert code(request) is None

    @pytest.mark.parametrize(
        "host", [HOST, f"localhost:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"]
    )
    def test_own_hosts_and_origins(self, host: str) -> None:
        assert code(replace(SUBMIT, hosts=(host,))) is None
        assert code(replace(SUBMIT, origins=(f"http://{host.lower()}",))) is None

    @pytest.mark.parametrize(
        "hosts",
        [
            (),
            ("",),
            ("evil.example",),
            (f"evil.example:{PORT}",),
            ("127.0.0.1",),
            ("127.0.0.1:80",),
            (f"127.0.0.1:{PORT}0",),
            (f"127.0.0.1:0{PORT}",),
            (f"127.0.0.2:{PORT}",),
            (f"127.0.0.1.:{PORT}",),
            (f"localhost.:{PORT}",),
            (f"localhost.evil.example:{PORT}",),
            (f"user@127.0.0.1:{PORT}",),
            (f"evil.example#@127.0.0.1:{PORT}",),
            (f"127.0.0.1:{PORT}, evil.example",),
            (f"::1:{PORT}",),
            (f"[::ffff:127.0.0.1]:{PORT}",),
            (f"2130706433:{PORT}",),
            (HOST, HOST),
            (HOST, "evil.example"),
        ],
    )
    def test_foreign_hosts(self, hosts: tuple[str, ...]) -> None:
        for request in ALL_SORTS:
            refused = refusal(replace(request, hosts=hosts), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (421, "host-not-allowed")

    @pytest.mark.parametrize(
        "origins",
        [
            ("",),
            ("null",),
            ("https://evil.example",),
            (f"https://{HOST}",),
            (f"ws://{HOST}",),
            (f"http://{HOST}/",),
            (f"http://{HOST}.evil.example",),
            ("http://127.0.0.1",),
            ("http://127.0.0.1:3000",),
            ("http://localhost:3000",),
            (f"http://user@{HOST}",),
            (f"http://{HOST} http://evil.example",),
            (f"http://{HOST}", f"http://{HOST}"),
            (f"http://{HOST}", "http://evil.example"),
        ],
    )
    def test_foreign_origins(self, origins: tuple[str, ...]) -> None:
        for request in ALL_SORTS:
            refused = refusal(replace(request, origins=origins), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (403, "origin-not-allowed")

    @pytest.mark.parametrize(
        "types",
        [
            (),
            ("",),
            ("text/plain",),
            ("application/x-www-form-urlencoded",),
            ("multipart/form-data; boundary=application/json",),
            ("text/plain; application/json",),
            ("text/plain;, application/json",),
            ("application/json, text/plain",),
            ("application/jsonp",),
            ("application/problem+json",),
            ("text/json",),
            (JSON, JSON),
            ("text/plain", JSON),
        ],
    )
    def test_forms_and_whatever_else_a_page_may_post(self, types: tuple[str, ...]) -> None:
        for request in (SUBMIT, CHECK):
            refused = refusal(replace(request, content_types=types), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (415, "not-json")

    @pytest.mark.parametrize(
        "content_type", [JSON, "application/json; charset=utf-8", "Application/JSON;x=y"]
    )
    def test_json_as_it_may_be_written(self, content_type: str) -> None:
        assert code(replace(SUBMIT, content_types=(content_type,))) is None

    @pytest.mark.parametrize(
        "authorization",
        ["", "Bearer", "Basic dXNlcjpwYXNz", TOKEN, f"Token {TOKEN}", f"Bearer\t{TOKEN}"],
    )
    def test_without_a_token(self, authorization: str) -> None:
        wanted = "token-wrong" if authorization == "Bearer" else "token-missing"
        for request in (READ, SUBMIT):
            refused = refusal(replace(request, authorizations=(authorization,)), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (401, wanted)
            assert ("WWW-Authenticate", "Bearer") in refused.headers
            assert "token file that `retryproof serve` names" in refused.message
        assert code(replace(READ, authorizations=())) == "token-missing"

    @pytest.mark.parametrize(
        "shown",
        [
            "",
            "wrong",
            TOKEN[:-1],
            TOKEN + "x",
            TOKEN.upper(),
            f"{TOKEN}, {TOKEN}",
            f'"{TOKEN}"',
            f"{TOKEN}\x00",
            "\xe9\xff",
            "*",
        ],
    )
    def test_a_wrong_token(self, shown: str) -> None:
        for request in (READ, SUBMIT):
            refused = refusal(replace(request, authorizations=(f"Bearer {shown}",)), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (401, "token-wrong")
            assert ("WWW-Authenticate", "Bearer") in refused.headers
            assert TOKEN not in refused.message

    @pytest.mark.parametrize("authorization", [f"bearer {TOKEN}", f"BEARER   {TOKEN} "])
    def test_the_scheme_in_any_case(self, authorization: str) -> None:
        assert code(replace(READ, authorizations=(authorization,))) is None

    @pytest.mark.parametrize("pair", [(BEARER, BEARER), (BEARER, "Bearer x"), ("Bearer x", BEARER)])
    def test_two_tokens(self, pair: tuple[str, ...]) -> None:
        for request in ALL_SORTS:
            refused = refusal(replace(request, authorizations=pair), POLICY)
            assert refused is not None
            assert (refused.status, refused.code) == (400, "header-repeated")

    @pytest.mark.parametrize(("method", "path"), sorted(OPEN))
    def test_the_pure_parts_are_open(self, method: str, path: str) -> None:
        request = RequestFacts(method, path, hosts=(HOST,), content_types=(JSON,))
        assert code(request) is None
        other = "POST" if method == "GET" else "GET"
        assert code(replace(request, method=other)) == "token-missing"

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/",
            "//healthz",
            "/healthz/",
            "/Healthz",
            "/healthz ",
            "/healthz\x00",
            "/healthz;x",
            "/healthz/../v1/runs",
            "/v1/check/../runs",
            "/v1/check/",
            "/v1//check",
            "/v1/./check",
            "/v1%2Fcheck",
            "/metrics",
            "/v1/runs",
            "/v1/runs/healthz",
            "/v1/runs//healthz",
            "*",
            "http://127.0.0.1/healthz",
        ],
    )
    def test_no_other_path_is(self, path: str) -> None:
        for request in (HEALTH, CHECK):
            assert code(replace(request, path=path)) == "token-missing"

    @pytest.mark.parametrize("method", ["get", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", ""])
    def test_nor_another_method(self, method: str) -> None:
        for path in ("/healthz", "/v1/check", "/v1/runs"):
            assert code(replace(HEALTH, method=method, path=path)) == "token-missing"

    def test_at_the_port_of_http_hosts_without_a_port_are_own_too(self) -> None:
        assert own_hosts([("::1", 80)]) == {
            *("127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80", "[::1]", "[::1]:80")
        }

    def test_the_address_that_is_listened_at_is_own(self) -> None:
        hosts = own_hosts([("127.9.9.9", 1), ("::1", 2)])
        assert "127.9.9.9:1" in hosts
        assert "127.9.9.9:2" not in hosts
        assert {"localhost:1", "localhost:2"} <= hosts


header = st.one_of(
    st.text(max_size=20),
    st.sampled_from([HOST, f"http://{HOST}", BEARER, "Bearer x", JSON, "evil.example", "null"]),
)
headers = st.lists(header, max_size=2).map(tuple)
requests = st.builds(
    RequestFacts,
    method=st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "DELETE"]) | st.text(max_size=8),
    path=st.sampled_from([path for _, path in sorted(OPEN)] + ["/v1/runs"])
    | st.text(alphabet=string.printable, max_size=20),
    hosts=headers,
    origins=headers,
    authorizations=headers,
    content_types=headers,
)


class TestProperties:
    @given(requests)
    def test_what_passes_is_in_order(self, request: RequestFacts) -> None:
        if refusal(request, POLICY) is not None:
            return
        assert len(request.hosts) == 1
        assert request.hosts[0].lower() in POLICY.hosts
        assert request.origins in {(), *((f"http://{host}",) for host in POLICY.hosts)}
        assert len(request.authorizations) <= 1
        if (request.method, request.path) not in OPEN:
            scheme, token = request.authorizations[0].split()
            assert scheme.lower() == "bearer"
            assert token == TOKEN
        if request.method == "POST":
            assert len(request.content_types) == 1
            assert request.content_types[0].lower().startswith(JSON)

    @given(requests, st.text())
    def test_a_refusal_says_what_to_do_without_the_token(
        self, request: RequestFacts, token: str
    ) -> None:
        secret = f"secret-{token}"
        refused = refusal(request, AccessPolicy(POLICY.hosts, secret))
        if refused is not None:
            assert 400 <= refused.status < 500
            assert refused.message.endswith(".")
            assert secret not in refused.message

    @given(st.text(alphabet=string.printable), st.booleans())
    def test_only_the_token_is_the_token(self, guess: str, prefixed: bool) -> None:
        shown = TOKEN + guess if prefixed else guess
        refused = code(replace(READ, authorizations=(f"Bearer {shown}",)))
        assert refused == (None if shown.strip(" ") == TOKEN else "token-wrong")


class Site:
    """A real server with the access control, and what got through to its app."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.host = f"127.0.0.1:{listener.getsockname()[1]}"
        self.reached: list[str] = []

    def send(
        self, line: str, *header_lines: str, host: str | None = None, body: bytes = b""
    ) -> Answer:
        """A request of exactly these lines, beside Host, Connection and Content-Length."""
        self.reached.clear()
        lines = [f"{line} HTTP/1.1", f"Host: {host or self.host}", *header_lines]
        lines += ["Connection: close", *([f"Content-Length: {len(body)}"] if body else [])]
        head = "\r\n".join(lines) + "\r\n\r\n"
        return exchange(self.listener, head.encode("latin-1") + body)

    async def note(self, request: Request) -> Response:
        """Every route's handler."""
        self.reached.append(f"{request.method} {request.url.path}")
        return PlainTextResponse("reached", headers={"Referrer-Policy": "unsafe-url"})

    async def cached(self, request: Request) -> Response:
        """One that chooses how it is cached."""
        return PlainTextResponse("cached", headers={"Cache-Control": "max-age=60"})


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with bind_loopback("127.0.0.1:0") as listener:
        site = Site(listener)
        policy = AccessPolicy(own_hosts([listener.getsockname()]), TOKEN)
        app = Starlette(
            routes=[
                Route("/readyz", site.cached),
                *(Route(path, site.note, methods=[method]) for method, path in sorted(OPEN)),
                Route("/v1/runs", site.note, methods=["GET", "POST"]),
                Route("/v1/runs/{id:path}", site.note, methods=["GET", "POST"]),
            ]
        )
        with served(SecurityHeaders(AccessControl(app, policy)), listener):
            yield site


def problem(answer: Answer) -> str:
    """The code of a refusal, which is always JSON of the same form."""
    assert answer.headers["content-type"] == JSON
    document = json.loads(answer.body)
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "message", "path"}
    assert document["error"]["path"] == ""
    return str(document["error"]["code"])


AUTHORIZED = f"Authorization: {BEARER}"
AS_JSON = f"Content-Type: {JSON}"
FORM = "Content-Type: application/x-www-form-urlencoded"


class TestServer:
    def test_with_the_token_it_works(self, site: Site) -> None:
        answer = site.send("POST /v1/runs", AUTHORIZED, AS_JSON, body=b"{}")
        assert answer.status == 200
        assert site.reached == ["POST /v1/runs"]

    def test_without_the_token_the_pure_parts_work(self, site: Site) -> None:
        assert site.send("GET /healthz").status == 200
        assert site.send("POST /v1/check", AS_JSON, body=b"{}").body == b"reached"

    @pytest.mark.parametrize(
        ("attack", "lines", "status", "expected"),
        [
            ("no token", [AS_JSON], 401, "token-missing"),
            ("wrong token", [AS_JSON, "Authorization: Bearer x"], 401, "token-wrong"),
            ("bytes", [AS_JSON, "Authorization: Bearer \xff\xfe"], 401, "token-wrong"),
            ("another scheme", [AS_JSON, "Authorization: Basic eDp4"], 401, "token-missing"),
            ("in the query", [AS_JSON, "Cookie: token=x"], 401, "token-missing"),
            ("two tokens", [AS_JSON, AUTHORIZED, AUTHORIZED], 400, "header-repeated"),
            (
                "a page",
                [AS_JSON, AUTHORIZED, "Origin: http://x.example"],
                403,
                "origin-not-allowed",
            ),
            ("a sandbox", [AS_JSON, AUTHORIZED, "Origin: null"], 403, "origin-not-allowed"),
            ("a form", [FORM, AUTHORIZED], 415, "not-json"),
            ("a form of a page", [FORM, "Origin: http://x.example"], 403, "origin-not-allowed"),
            ("text", ["Content-Type: text/plain", AUTHORIZED], 415, "not-json"),
            ("no type", [AUTHORIZED], 415, "not-json"),
            ("two types", [FORM, AS_JSON, AUTHORIZED], 415, "not-json"),
            ("forwarded", [AS_JSON, "X-Forwarded-For: 127.0.0.1"], 401, "token-missing"),
            ("forwarded", [AS_JSON, "Forwarded: for=127.0.0.1"], 401, "token-missing"),
            ("another url", [AS_JSON, "X-Original-URL: /healthz"], 401, "token-missing"),
            ("another url", [AS_JSON, "X-Rewrite-URL: /healthz"], 401, "token-missing"),
            ("another method", [AS_JSON, "X-HTTP-Method-Override: GET"], 401, "token-missing"),
            ("upgrade", [AS_JSON, "Upgrade: websocket"], 401, "token-missing"),
        ],
    )
    def test_attacks_on_a_submission(
        self, site: Site, attack: str, lines: list[str], status: int, expected: str
    ) -> None:
        answer = site.send("POST /v1/runs?token=the-token_of-this-start", *lines, body=b"a=b")
        assert (answer.status, problem(answer)) == (status, expected), attack
        assert site.reached == []

    @pytest.mark.parametrize("path", ["/v1/runs", "/healthz"])
    def test_a_name_that_was_rebound(self, site: Site, path: str) -> None:
        port = site.host.split(":")[1]
        for host in ("evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}"):
            answer = site.send(f"GET {path}", AUTHORIZED, host=host)
            assert (answer.status, problem(answer)) == (421, "host-not-allowed")
            assert site.reached == []

    def test_a_forwarded_host_is_not_the_host(self, site: Site) -> None:
        answer = site.send("GET /healthz", f"X-Forwarded-Host: {site.host}", host="evil.example")
        assert problem(answer) == "host-not-allowed"

    def test_two_hosts(self, site: Site) -> None:
        answer = site.send("GET /v1/runs", "Host: evil.example", AUTHORIZED)
        assert answer.status == 400
        assert site.reached == []

    def test_no_host(self, site: Site) -> None:
        answer = exchange(site.listener, f"GET /v1/runs HTTP/1.0\r\n{AUTHORIZED}\r\n\r\n".encode())
        assert (answer.status, problem(answer)) == (421, "host-not-allowed")

    def test_a_folded_or_smuggled_header(self, site: Site) -> None:
        for line in (
            f"X: y\r\n {AUTHORIZED}",
            f"X: y\r{AUTHORIZED}",
            f"Authorization : {BEARER}",
            "Content-Length: 0\r\nTransfer-Encoding: chunked",
        ):
            answer = site.send("GET /v1/runs", line)
            assert answer.status in (400, 401)
            assert site.reached == []

    @pytest.mark.parametrize(
        "target",
        [
            "/v1/runs",
            "/v1/runs/",
            "//v1/runs",
            "/v1//runs",
            "/v1/%72uns",
            "/%76%31/runs",
            "/v1%2Fruns",
            "/v1/check/../runs",
            "/v1/check/%2e%2e/runs",
            "/v1/check%2f..%2fruns",
            "/v1/check%00/../runs",
            "/healthz/..%2fv1%2fruns",
            "/healthz;/../v1/runs",
            "/V1/runs",
            "/v1/runs?/healthz",
            "/v1/runs#/healthz",
            "/v1/runs/healthz",
            "/v1/runs/%2e%2e/%2e%2e/healthz",
            "/v1/runs/..;/healthz",
            "/healthz/",
            "/healthz%20",
            "/%2e/healthz",
            "http://localhost/v1/runs",
            "http://localhost/healthz",
            "*",
        ],
    )
    def test_no_spelling_of_a_path_gets_around(self, site: Site, target: str) -> None:
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            body = b"{}" if method == "POST" else b""
            answer = site.send(f"{method} {target}", AS_JSON, body=body)
            assert answer.status in (400, 401)
            assert site.reached == []

    @pytest.mark.parametrize("target", ["/%68ealthz", "/healthz?x=/v1/runs"])
    def test_a_spelling_that_reaches_only_what_is_open(self, site: Site, target: str) -> None:
        assert site.send(f"GET {target}").status == 200
        assert site.reached == ["GET /healthz"]

    def test_every_answer_has_the_headers_and_none_lets_other_origins_read(
        self, site: Site
    ) -> None:
        for answer in (
            site.send("GET /healthz"),
            site.send("GET /v1/runs"),
            site.send("GET /nowhere", AUTHORIZED),
            site.send("GET /healthz", host="evil.example"),
            site.send("OPTIONS /v1/runs", "Access-Control-Request-Method: POST"),
            site.send("OPTIONS /v1/runs", f"Origin: http://{site.host}", AUTHORIZED),
        ):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"
            assert "server" not in answer.headers
            assert not any(name.startswith("access-control-") for name in answer.headers)

    def test_the_app_may_choose_its_caching(self, site: Site) -> None:
        assert site.send("GET /readyz").headers["cache-control"] == "max-age=60"

    def test_on_one_connection_each_request_is_looked_at(self, site: Site) -> None:
        site.reached.clear()
        statuses = []
        with connect(site.listener) as client:
            for lines in ([AUTHORIZED], [], ["Authorization: Bearer x"], [AUTHORIZED]):
                head = "\r\n".join(["GET /v1/runs HTTP/1.1", f"Host: {site.host}", *lines])
                client.sendall(f"{head}\r\n\r\n".encode())
                statuses.append(read_answer(client).status)
        assert statuses == [200, 401, 401, 200]
        assert len(site.reached) == 2

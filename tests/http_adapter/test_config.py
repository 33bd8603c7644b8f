"""SERVICE.toml: what it may say, and the exact words for what it may not."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retryproof.errors import FileError, InvalidArgumentsError
from retryproof.http_adapter.config import Command, Service, parse_service, read_service
from retryproof.http_adapter.pointer import Header, JSONPointer
from retryproof.http_adapter.request import Request
from retryproof.http_adapter.tables import ServiceFileError

SPECIFIED = """
base_url = "http://127.0.0.1:8080"
[reset]   # any number of requests; or `command = [...]`
request = "POST /test/reset"
[clock]
request = "POST /test/clock"
json = { now = "{at}" }
[step]
request = "POST /orders"
headers = { "Idempotency-Key" = "{key_uuid}" }
json = { item = "{value}" }
receipt = "/id"
[writes]
request = "GET /test/orders"
count = "/count"
"""
SMALLEST = """
base_url = "https://orders.example/api/"
[clock]
seconds_per_tick = 2
[step]
request = "PUT https://other.example/x?item={value}&at={at}"
body = "{key}"
receipt = "header:Location"
[writes]
command = ["count"]
[start]
command = ["serve", "--port", "8080"]
[[reset]]
command = ["reset"]
[[reset]]
request = "DELETE /orders"
"""


def test_the_specified_example() -> None:
    step = Request(
        "[step]", "POST", "/orders", {"Idempotency-Key": "{key_uuid}"}, {"item": "{value}"}
    )
    service = parse_service(SPECIFIED.encode())
    assert service == Service(
        base_url="http://127.0.0.1:8080",
        start=None,
        reset=(Request("[reset]", "POST", "/test/reset", {}),),
        clock=Request("[clock]", "POST", "/test/clock", {}, {"now": "{at}"}),
        step=type(service.step)(step, JSONPointer("/id", ("id",))),
        writes=type(service.writes)(
            Request("[writes]", "GET", "/test/orders", {}), JSONPointer("/count", ("count",))
        ),
    )


def test_the_other_alternatives() -> None:
    service = parse_service(SMALLEST.encode())
    assert service.base_url == "https://orders.example/api"
    assert service.clock == 2.0
    assert service.step.receipt == Header("location")
    assert service.step.request.body == "{key}"
    assert service.writes.source == Command("[writes]", ("count",))
    assert service.writes.count == JSONPointer("", ())
    assert service.start is not None
    assert (service.start.argv, service.start.within_seconds) == (("serve", "--port", "8080"), 25.0)
    assert service.reset == (
        Command("[[reset]] number 1", ("reset",)),
        Request("[[reset]] number 2", "DELETE", "/orders", {}),
    )


WRONG = {
    "no TOML": ("= 1", "", "not TOML: "),
    "base_url misspelt": ("base_url", "base_uri", "base_uri is not known. Did you mean base_url?"),
    "base_url missing": (
        'base_url = "http://127.0.0.1:8080"',
        "",
        'base_url is missing: where the service is, such as base_url = "http://127.0.0.1:8080".',
    ),
    "base_url of another type": (
        '"http://127.0.0.1:8080"',
        "8080",
        "base_url: expected string, got integer.",
    ),
    "base_url without a scheme": (
        "http://127",
        "127",
        'base_url: "127.0.0.1:8080" is no URL of a service, such as "http://127.0.0.1:8080".',
    ),
    "base_url with a password": (
        "http://",
        "http://me:secret@",
        "base_url must not hold a password: send a header instead.",
    ),
    "a port that is none": (
        "8080",
        "99999",
        'base_url: "http://127.0.0.1:99999" is no URL of a service, such as '
        '"http://127.0.0.1:8080".',
    ),
    "a table misspelt": ("[writes]", "[write]", "[write] is not known. Did you mean writes?"),
    "a table nobody knows": (
        "[writes]",
        "[zzz]\n[writes]",
        "[zzz] is not known. There is base_url, clock, step, writes, start, reset.",
    ),
    "a table missing": (
        '[writes]\nrequest = "GET /test/orders"\ncount = "/count"',
        "",
        "[writes] is missing: how writes are counted apart from the answers, with request or "
        "command.",
    ),
    "a table that is none": (
        '[clock]\nrequest = "POST /test/clock"\njson = { now = "{at}" }',
        "",
        "[clock] is missing: how ticks become time, with request or seconds_per_tick.",
    ),
    "a key misspelt": ("receipt =", "reciept =", "[step] reciept is not known. Did you mean "),
    "a key of another table": (
        'count = "/count"',
        'receipt = "/count"',
        "[writes] receipt is not known. There is request, headers, json, body, command, count.",
    ),
    "a key nobody knows": (
        'count = "/count"',
        "zzz = 1",
        "[writes] zzz is not known. There is request, headers, json, body, command, count.",
    ),
    "no receipt": (
        'receipt = "/id"',
        "",
        '[step] receipt is missing: where the answer names its write, such as "/id" or '
        '"header:Location".',
    ),
    "no step request": (
        'request = "POST /orders"',
        "",
        '[step] request is missing: the request that is tested, such as "POST /orders".',
    ),
    "a request of another type": (
        '"POST /orders"',
        '["POST /orders"]',
        "[step] request: expected string, got array.",
    ),
    "a header of another type": (
        '"{key_uuid}"',
        "7",
        "[step] headers[...]: expected string, got integer.",
    ),
    "a method in small letters": (
        "POST /orders",
        "post /orders",
        '[step] request: "post /orders" is no request; write a method and a path, such as "POST '
        '/orders".',
    ),
    "a request without a path": (
        "POST /orders",
        "POST orders",
        '[step] request: "POST orders" is no request; write a method and a path, such as "POST '
        '/orders".',
    ),
    "json and body": (
        'json = { item = "{value}" }',
        'json = 1\nbody = "x"',
        "[step] has both json and body; a request has one body.",
    ),
    "no pointer": (
        '"/id"',
        '"id"',
        '[step] receipt: "id" is no JSON pointer: it must begin with "/".',
    ),
    "a bad escape": (
        '"/id"',
        '"/i~d"',
        '[step] receipt: "/i~d" is no JSON pointer: "~" is written ~0, and "/" in a name ~1.',
    ),
    "a header that is none": (
        '"/id"',
        '"header:My Id"',
        '[step] receipt: "header:My Id" does not name a header.',
    ),
    "a count that is no pointer": (
        '"/count"',
        '"header:X-Count"',
        '[writes] count: "header:X-Count" is no JSON pointer: it must begin with "/".',
    ),
    "a header's name": (
        '"Idempotency-Key"',
        '"Idempotency Key"',
        '[step] headers: "Idempotency Key" is no name of a header.',
    ),
    "a header's value": (
        '"{key_uuid}"',
        '"{key_uuid}\\n"',
        "[step] headers: the value of Idempotency-Key is not plain ASCII.",
    ),
    "both clocks": (
        "[clock]",
        "[clock]\nseconds_per_tick = 1",
        "[clock] needs exactly one of request and seconds_per_tick; it has request and "
        "seconds_per_tick.",
    ),
    "no clock": (
        'request = "POST /test/clock"\njson = { now = "{at}" }',
        "",
        "[clock] needs exactly one of request and seconds_per_tick; it has neither.",
    ),
    "a clock that does not go": (
        'request = "POST /test/clock"\njson = { now = "{at}" }',
        "seconds_per_tick = 0",
        "[clock] seconds_per_tick: expected number > 0.0.",
    ),
    "a clock that is too slow": (
        'request = "POST /test/clock"\njson = { now = "{at}" }',
        "seconds_per_tick = 601",
        "[clock] seconds_per_tick: expected number <= 600.0.",
    ),
    "json without a request": (
        'request = "POST /test/clock"',
        "seconds_per_tick = 1",
        "[clock] json goes with a request, and there is none.",
    ),
    "both resets": (
        'request = "POST /test/reset"',
        'request = "POST /test/reset"\ncommand = ["true"]',
        "[reset] needs exactly one of request and command; it has request and command.",
    ),
    "an empty second reset": (
        'request = "POST /test/reset"',
        'request = "POST /test/reset"\n[[reset]]',
        "not TOML: ",
    ),
    "an empty command": (
        'request = "POST /test/reset"',
        "command = []",
        "[reset] command: expected array of length >= 1.",
    ),
    "a command of another type": (
        'request = "POST /test/reset"',
        'command = "true"',
        "[reset] command: expected array, got string.",
    ),
    "a placeholder misspelt": (
        "{key_uuid}",
        "{keyuuid}",
        "[step] headers: {keyuuid} is no placeholder. Did you mean key_uuid? Text that is meant "
        "as it is has a space inside its braces.",
    ),
    "a placeholder without a value": (
        "POST /test/reset",
        "POST /test/reset?key={key}",
        "[reset] request: {key} has a value in [step] only.",
    ),
    "a tick without a value": (
        "GET /test/orders",
        "GET /test/orders?at={at}",
        "[writes] request: {at} has a value in [clock] and [step] only.",
    ),
    "a key in the clock": (
        '"{at}"',
        '"{key}"',
        "[clock] json: {key} has a value in [step] only.",
    ),
    "a date in JSON": (
        '"{value}"',
        "2024-01-02",
        "[step] json.item: JSON has no dates; write 2024-01-02 in quotes.",
    ),
    "no number in JSON": ('"{value}"', "[1, nan]", "[step] json.item[1]: JSON has no nan."),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_table_and_key(name: str) -> None:
    before, after, words = WRONG[name]
    text = SPECIFIED.replace(before, after) if before in SPECIFIED else before
    assert text != SPECIFIED
    with pytest.raises(ServiceFileError) as caught:
        parse_service(text.encode())
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ('[[reset]]\ncommand = ["true"]\n[[reset]]\n', "[[reset]] number 2 needs exactly one of "),
        (
            '[[reset]]\ncommand = ["true"]\n[[reset]]\nrequest = 1\n',
            "[[reset]] number 2 request: expected string, got integer.",
        ),
        ('reset = ["true"]\n', "[reset] must be a table."),
        ("reset = [{}, 1]\n", "[[reset]] number 2 must be a table."),
        ("reset = 1\n", "[reset] must be a table."),
        ("start = 1\n", "[start] must be a table."),
        ("[start]\n", "[start] command is missing: how the service is started, such as "),
        (
            '[start]\ncommand = ["a"]\nwithin_seconds = -1\n',
            "[start] within_seconds: expected number > 0.0.",
        ),
    ],
)
def test_what_is_wrong_with_resets_and_start(tables: str, words: str) -> None:
    without = re.sub(r"(?s)\[reset\].*?(?=\[clock\])", "", SPECIFIED)
    head, _, rest = without.partition("[clock]")
    text = (
        f"{head}{tables}[clock]{rest}"
        if tables.startswith(("reset", "start"))
        else (f"{without}{tables}")
    )
    with pytest.raises(ServiceFileError) as caught:
        parse_service(text.encode())
    assert str(caught.value).startswith(words)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(ServiceFileError, match=r"^not UTF-8 at byte 3\.$"):
        parse_service(b"# \n\xff")


def test_text_that_is_nested_too_deeply() -> None:
    with pytest.raises(ServiceFileError):
        parse_service(b"a = " + b"[" * 100_000)


@given(st.text())
def test_any_text_is_a_service_or_a_complaint(text: str) -> None:
    with pytest.raises(ServiceFileError):
        parse_service(text.encode("utf-8", "surrogatepass"))


def test_the_file_is_named_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    with pytest.raises(FileError, match="can't be read: No such file or directory"):
        read_service(file)
    file.write_text("")
    with pytest.raises(InvalidArgumentsError) as caught:
        read_service(file)
    assert caught.value.message.startswith(f"{file}: base_url is missing: ")
    assert caught.value.advice == "`retryproof init http` writes a commented file to start from."

"""The API's description for programs: OpenAPI 3.1, made from the calls and their types."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, get_args

import msgspec
from msgspec.structs import fields

from .. import __version__
from ..api.views import ProblemBody, RunWithReport
from ..reports.fuse_report import FuseReport
from ..reports.report import Report
from .access import OPEN
from .operations.operation import Answer, Operation

PATH = "/openapi.json"
_SCHEMAS = "#/components/schemas/{name}"
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_ANY_REFUSAL = {
    400: "The request is not in form.",
    401: "Over TCP: the token is missing or wrong.",
    403: "Over TCP: the Origin is another one.",
    421: "Over TCP: the Host is another one.",
    500: "A bug in retryproof.",
    503: "The store can't be used now; Retry-After says when to try again.",
}
_POST_REFUSAL = {415: "Over TCP: the body is not said to be JSON."}
_BODY_REFUSAL = {413: "The body is too large."}


def describe(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document, as what is to be encoded."""
    calls = tuple(operations)
    types = [*_types(calls), ProblemBody, RunWithReport, Report, FuseReport]
    schemas, components = msgspec.json.schema_components(types, ref_template=_SCHEMAS)
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    # Of one of two types, for which a type has no words: it is in the answer as it is.
    reports = [schema_of[repr(Report)], schema_of[repr(FuseReport)], {"type": "null"}]
    components[RunWithReport.__name__]["properties"]["report"] = {"oneOf": reports}
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "retryproof",
            "version": __version__,
            "description": "Runs of adapters through the retry contracts. Over the Unix socket "
            "its file mode is the key; over TCP the bearer token is.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types(calls: Iterable[Operation]) -> Iterator[Any]:
    for call in calls:
        yield from (call.body,) if call.body is not None else ()
        yield from (field.type for field in _parameters(call))
        for answer in call.answers.values():
            yield from _alternatives(answer)


def _alternatives(answer: Answer) -> tuple[Any, ...]:
    if isinstance(answer.body, UnionType):
        return get_args(answer.body)
    return () if answer.body is None else (answer.body,)


def _parameters(call: Operation) -> tuple[msgspec.structs.FieldInfo, ...]:
    return () if call.query is None else fields(call.query)


def _operation(call: Operation, schema_of: Mapping[str, Any]) -> dict[str, Any]:
    refusals = {status: Answer(meaning, ProblemBody) for status, meaning in _refusals(call).items()}
    described: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.summary,
        "security": [] if (call.method, call.path) in OPEN else [{"token": []}, {}],
        "parameters": [*_described_parameters(call, schema_of)],
        "responses": {
            str(status): _response(answer, schema_of)
            for status, answer in (refusals | dict(call.answers)).items()
        },
    }
    if call.body is not None:
        content = {"application/json": {"schema": schema_of[repr(call.body)]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _refusals(call: Operation) -> dict[int, str]:
    of_posts = _POST_REFUSAL if call.method == "POST" else {}
    of_bodies = _BODY_REFUSAL if call.body is not None else {}
    return _ANY_REFUSAL | of_posts | of_bodies | dict(call.refusals)


def _described_parameters(
    call: Operation, schema_of: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    text = {"type": "string"}
    for name in _PATH_PARAMETER.findall(call.path):
        yield {"name": name, "in": "path", "required": True, "schema": text}
    for field in _parameters(call):
        schema = schema_of[repr(field.type)]
        yield {"name": field.encode_name, "in": "query", "required": False, "schema": schema}
    for name, meaning in call.headers.items():
        yield {
            "name": name,
            "in": "header",
            "required": False,
            "schema": text,
            "description": meaning,
        }


def _response(answer: Answer, schema_of: Mapping[str, Any]) -> dict[str, Any]:
    text = {"type": "string"}
    schemas = [schema_of[repr(body)] for body in _alternatives(answer)] or [text]
    content = {answer.media_type: {"schema": {"oneOf": schemas} if schemas[1:] else schemas[0]}}
    if answer.text_type is not None:
        content[answer.text_type] = {"schema": text}
    return {"description": answer.meaning, "content": content}

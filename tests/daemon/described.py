"""Holds each answer of a daemon against the daemon's own description of its API."""

import re
from collections.abc import Iterator
from typing import Any, Self

import httpx2
from jsonschema import Draft202012Validator

from tests.daemon.running import Daemon

NOT_DESCRIBED = {404, 405}
"""What is answered where there is nothing to describe."""


class Description:
    """An OpenAPI document, for the answers that it speaks of."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def check(self, answer: httpx2.Response) -> None:
        """Fails the test if the answer is not as described. An event stream is left unread."""
        described = self._responses(answer.request)
        if described is None:
            assert answer.status_code in NOT_DESCRIBED
            problem = {"schema": {"$ref": "#/components/schemas/ProblemBody"}}
            response: dict[str, Any] = {"content": {"application/json": problem}}
        else:
            place = f"{answer.request.method} {answer.request.url}"
            assert str(answer.status_code) in described, f"{place}: {answer.status_code}"
            response = described[str(answer.status_code)]
        kind = answer.headers["Content-Type"].partition(";")[0]
        assert kind in response["content"], kind
        if kind == "application/json" and answer.request.method != "HEAD":
            answer.read()
            self.validate(answer.json(), response["content"][kind]["schema"])

    def validate(self, value: Any, schema: dict[str, Any]) -> None:
        """Fails the test if the value is not of this schema of the document."""
        whole = {**schema, "components": self.document["components"]}
        Draft202012Validator(whole).validate(value)

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The method, the path and the rest of each call."""
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def _responses(self, request: httpx2.Request) -> dict[str, Any] | None:
        for method, path, operation in self.operations():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
            is_its_method = request.method in ({"GET", "HEAD"} if method == "GET" else {method})
            if is_its_method and re.fullmatch(pattern, request.url.path):
                return dict(operation["responses"])
        return None


class DescribedDaemon(Daemon):
    """A daemon whose clients fail the test if an answer is not as the daemon describes it."""

    description = Description({"paths": {}})

    def start(self) -> Self:
        """Starts it, and has it describe itself."""
        super().start()
        with super().new_client() as client:
            self.description = Description(client.get("/openapi.json").json())
        return self

    def new_client(self) -> httpx2.Client:
        """A client over the socket, to be closed by the caller."""
        client = super().new_client()
        client.event_hooks = {"response": [self.description.check]}
        return client

    def close_client(self) -> None:
        """Ends the connections of `client`, which makes new ones when it is used again."""
        self._close_client()

"""Drives flask-once around a Flask route, in-process with Flask's test client."""

from typing import TypedDict

import flask_once
from cachetools import TTLCache
from flask import Flask, request
from flask_once import idempotent

TICK_SECONDS = 10.0
RETENTION_TICKS = 6
MAX_KEYS = 1000


class Operation(TypedDict):
    at: int
    key: str
    value: str
    delivery: str


class Observation(TypedDict):
    status: int | None
    receipt: int | None
    committedWrites: int


class TickClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


clock = TickClock()
committed_orders: list[str] = []
app = Flask(__name__)
# flask-once keeps no time of its own: how long a key lives is up to the cache that it is given.
app.cache = TTLCache(maxsize=MAX_KEYS, ttl=RETENTION_TICKS * TICK_SECONDS, timer=clock)
flask_once.attach(app, app.cache)
client = app.test_client()


@app.route("/orders", methods=["POST"])
@idempotent()
def create_order() -> tuple[dict[str, int], int]:
    committed_orders.append(request.get_json()["item"])
    return {"id": len(committed_orders)}, 201


def reset() -> None:
    app.cache.clear()
    committed_orders.clear()
    clock.seconds = 0.0


def step(operation: Operation) -> Observation:
    clock.seconds = operation["at"] * TICK_SECONDS
    response = client.post(
        "/orders",
        headers={"Idempotent-Key": operation["key"]},
        json={"item": operation["value"]},
    )
    received = operation["delivery"] == "received"
    # A refusal is an HTML page, with no receipt to read.
    body = response.get_json(silent=True) or {}
    return {
        "status": response.status_code if received else None,
        "receipt": body.get("id") if received else None,
        "committedWrites": len(committed_orders),
    }

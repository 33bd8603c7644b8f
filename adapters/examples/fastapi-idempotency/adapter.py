"""Drives fastapi-idempotency's middleware around a FastAPI route, in-process over ASGI."""

from datetime import timedelta
from typing import TypedDict
from unittest.mock import patch

from fastapi import FastAPI
from fastapi_idempotency import IdempotencyMiddleware, MemoryStore
from httpx2 import ASGITransport, AsyncClient
from pydantic import BaseModel

TICK = timedelta(seconds=10)
RETENTION_TICKS = 6


class Operation(TypedDict):
    at: int
    key: str
    value: str
    delivery: str


class Observation(TypedDict):
    status: int | None
    receipt: int | None
    committedWrites: int


class Order(BaseModel):
    item: str


class TickClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self) -> float:
        return self.seconds


clock = TickClock()
# MemoryStore stamps and expires its records by `time.time()`. Replacing the `time` of that one
# module leaves the event loop's clock real: a frozen loop would never end a wait.
patch("fastapi_idempotency.store.time", clock).start()

store = MemoryStore()
committed_orders: list[Order] = []
app = FastAPI()
app.add_middleware(IdempotencyMiddleware, store=store, key_window=RETENTION_TICKS * TICK)
client = AsyncClient(transport=ASGITransport(app=app), base_url="http://orders.test")


@app.post("/orders", status_code=201)
async def create_order(order: Order) -> dict[str, int]:
    committed_orders.append(order)
    return {"id": len(committed_orders)}


def reset() -> None:
    store.clear()
    committed_orders.clear()
    clock.seconds = 0.0


async def step(operation: Operation) -> Observation:
    clock.seconds = operation["at"] * TICK.total_seconds()
    response = await client.post(
        "/orders",
        headers={"Idempotency-Key": operation["key"]},
        json={"item": operation["value"]},
    )
    received = operation["delivery"] == "received"
    return {
        "status": response.status_code if received else None,
        "receipt": response.json().get("id") if received else None,
        "committedWrites": len(committed_orders),
    }

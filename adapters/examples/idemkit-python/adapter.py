"""Drives idemkit's ASGI middleware around a FastAPI route, in-process over ASGI."""

from typing import TypedDict

from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from idemkit import HttpConfig, IdempotencyMiddleware, InMemoryBackend, ManualClock
from pydantic import BaseModel

TICK_SECONDS = 10.0
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


class Service:
    """The app as a process would start it: nothing stored, its clock at zero."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.committed_orders: list[Order] = []
        app = FastAPI()
        app.add_middleware(
            IdempotencyMiddleware,
            backend=InMemoryBackend(clock=self.clock),
            config=HttpConfig(expires_after_seconds=RETENTION_TICKS * TICK_SECONDS),
        )
        app.post("/orders", status_code=201)(self.create_order)
        self.client = AsyncClient(transport=ASGITransport(app=app), base_url="http://orders.test")

    async def create_order(self, order: Order) -> dict[str, int]:
        self.committed_orders.append(order)
        return {"id": len(self.committed_orders)}


service = Service()


def reset() -> None:
    global service
    service = Service()


async def step(operation: Operation) -> Observation:
    service.clock.advance(operation["at"] * TICK_SECONDS - service.clock())
    response = await service.client.post(
        "/orders",
        headers={"Idempotency-Key": operation["key"]},
        json={"item": operation["value"]},
    )
    received = operation["delivery"] == "received"
    return {
        "status": response.status_code if received else None,
        "receipt": response.json().get("id") if received else None,
        "committedWrites": len(service.committed_orders),
    }

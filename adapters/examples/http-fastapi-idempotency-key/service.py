from fastapi import FastAPI
from fastapi_idempotency_key import IdempotencyMiddleware, MemoryBackend
from pydantic import BaseModel

RETENTION_SECONDS = 3


class Order(BaseModel):
    item: str


committed_orders: list[Order] = []
app = FastAPI()
app.add_middleware(IdempotencyMiddleware, backend=MemoryBackend(), default_ttl=RETENTION_SECONDS)


@app.post("/orders", status_code=201)
async def create_order(order: Order) -> dict[str, int]:
    committed_orders.append(order)
    return {"id": len(committed_orders)}


@app.get("/test/orders")
async def list_orders() -> list[Order]:
    return committed_orders

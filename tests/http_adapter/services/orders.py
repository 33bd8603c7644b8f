"""A service that takes orders under idempotency keys: correct, or with one known fault.

    python3 orders.py [--port PORT] [--fault NAME] [--retention SECONDS] [--hang-up]
        [--die-after ORDERS] [--hang-after ORDERS]

With a retention it has only real time, and no test clock. It says on stdout where it listens.
No service can know by itself that its answer will be lost, so a header tells it; with --hang-up it
then ends the connection in place of an answer.
"""

import argparse
import json
import os
import signal
import sys
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RETENTION_TICKS = 6


@dataclass
class Record:
    item: str
    order: str
    deadline: float


@dataclass
class Orders:
    """The service proper: what it keeps, and what it answers."""

    fault: str | None
    retention_seconds: float | None
    now: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    orders: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now if self.retention_seconds is None else time.monotonic()

    def deadline(self) -> float:
        return self.clock() + (self.retention_seconds or RETENTION_TICKS)

    def reset(self) -> None:
        self.records.clear()
        self.orders.clear()

    def create(self, key: str, item: str) -> tuple[int, dict[str, str]]:
        record = self.records.get(key)
        if record is None or self.clock() >= record.deadline:
            self.records[key] = Record(item, self.commit(), self.deadline())
            return 201, {"id": self.records[key].order}
        if record.item != item and self.fault != "body-blind":
            return 409, {"error": "this key was used for another order"}
        if self.fault == "sliding-expiry":
            record.deadline = self.deadline()
        if self.fault == "duplicate-write":
            record.order = self.commit()
            return 201, {"id": record.order}
        return 200, {"id": record.order}

    def commit(self) -> str:
        self.orders.append(f"order-{uuid.uuid4()}")
        return self.orders[-1]

    def lose_answer(self, key: str, status: int) -> None:
        if self.fault == "forget-on-loss" and status != 409:
            self.records.pop(key, None)


class Handler(BaseHTTPRequestHandler):
    service: Orders
    hangs_up: bool
    dies_after: int | None
    hangs_after: int | None

    def do_GET(self) -> None:
        if self.path == "/test/orders":
            orders = self.service.orders
            self.answer(200, {"count": len(orders), "orders": orders})
        else:
            self.answer(404, {"error": "not found"})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(length) or b"{}")
        key = self.headers.get("Idempotency-Key", "")
        if self.path == "/test/reset":
            self.service.reset()
            self.answer(204)
        elif self.path == "/test/clock":
            self.service.now = int(body["now"])
            self.answer(204)
        elif self.path == "/orders":
            self.misbehave()
            status, order = self.service.create(key, body["item"])
            if self.headers.get("X-Delivery") == "lost":
                self.service.lose_answer(key, status)
                if self.hangs_up:
                    self.close_connection = True
                    return
            self.answer(status, order)
        else:
            self.answer(404, {"error": "not found"})

    def misbehave(self) -> None:
        count = len(self.service.orders)
        if count == self.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if count == self.hangs_after:
            time.sleep(60)

    def answer(self, status: int, document: Any = None) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        say(f"{self.command} {self.path}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fault")
    parser.add_argument("--retention", type=float)
    parser.add_argument("--hang-up", action="store_true")
    parser.add_argument("--die-after", type=int)
    parser.add_argument("--hang-after", type=int)
    arguments = parser.parse_args()
    Handler.service = Orders(arguments.fault, arguments.retention)
    Handler.hangs_up = arguments.hang_up
    Handler.dies_after = arguments.die_after
    Handler.hangs_after = arguments.hang_after
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    say(f"listening on {server.server_address[1]}")
    server.serve_forever()


if __name__ == "__main__":
    main()

"""A service whose orders and idempotency keys are in Redis, and which has only real time.

python3 redis_orders.py --redis PORT --retention-ms N [--port PORT] [--fault sliding-expiry]
"""

import argparse
import json
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO


class Redis:
    """As much of its protocol as is needed here."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._answers: BinaryIO = self._connection.makefile("rb")

    def __call__(self, *words: str | int) -> str | int | None:
        parts = [str(word).encode() for word in words]
        request = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        self._connection.sendall(b"*%d\r\n%s" % (len(parts), request))
        kind, rest = (line := self._answers.readline())[:1], line[1:].strip()
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self._answers.read(length + 2)[:-2].decode()
        assert kind in b"+:", line
        return int(rest) if kind == b":" else rest.decode()


class Handler(BaseHTTPRequestHandler):
    redis: Redis
    retention_ms: int
    fault: str | None

    def do_POST(self) -> None:
        item = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["item"]
        key = f"key:{self.headers['Idempotency-Key']}"
        record = self.redis("GET", key)
        if record is None:
            order = self.redis("RPUSH", "orders", item)
            self.redis("SET", key, json.dumps([item, order]), "PX", self.retention_ms)
            self.answer(201, {"order": {"number": order}})
            return
        first_item, order = json.loads(str(record))
        if item != first_item:
            self.answer(409, {})
            return
        if self.fault == "sliding-expiry":
            self.redis("PEXPIRE", key, self.retention_ms)
        self.answer(200, {"order": {"number": order}})

    def answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--redis", type=int, required=True)
    parser.add_argument("--retention-ms", type=int, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fault")
    arguments = parser.parse_args()
    Handler.redis = Redis(arguments.redis)
    Handler.retention_ms = arguments.retention_ms
    Handler.fault = arguments.fault
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    sys.stdout.write(f"listening on {server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()

"""A correct idempotent service behind the adapter's two functions, or one with a known fault.

    python3 reference.py [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]

It is also a module: `retryproof run reference.py`. To connect your own service, see README.md.
"""

import argparse

RETENTION_TICKS = 6
FAULTS = ("duplicate-write", "body-blind", "sliding-expiry", "forget-on-loss")


class Service:
    """Orders under idempotency keys, with a clock that the test sets."""

    def __init__(self, fault):
        self._fault = fault
        self._records = {}
        self.now = 0
        self.orders = 0

    def order(self, key, item):
        """The answer to one request: a status and, unless refused, the order's number."""
        record = self._records.get(key)
        if record is None or self.now >= record["deadline"]:
            return 201, self._remember(key, item, self.now + RETENTION_TICKS)
        if item != record["item"] and self._fault != "body-blind":
            return 409, None
        if self._fault == "duplicate-write":
            return 201, self._remember(key, item, record["deadline"])
        if self._fault == "sliding-expiry":
            record["deadline"] = self.now + RETENTION_TICKS
        return 200, record["order"]

    def answer_was_lost(self, key, status):
        if self._fault == "forget-on-loss" and status != 409:
            del self._records[key]

    def _remember(self, key, item, deadline):
        self.orders += 1
        self._records[key] = {"item": item, "order": self.orders, "deadline": deadline}
        return self.orders


def _fault_from_command_line():
    parser = argparse.ArgumentParser(description="The reference adapter in Python.")
    parser.add_argument("--fault", choices=FAULTS)
    return parser.parse_args().fault


fault = _fault_from_command_line()
service = Service(fault)


def reset():
    global service
    service = Service(fault)


def step(operation):
    service.now = operation["at"]
    status, receipt = service.order(operation["key"], operation["value"])
    if operation["delivery"] == "lost":
        service.answer_was_lost(operation["key"], status)
        status = receipt = None
    return {"status": status, "receipt": receipt, "committedWrites": service.orders}


if __name__ == "__main__":
    import host

    host.serve(reset, step, name="reference" + (" with " + fault if fault else ""))

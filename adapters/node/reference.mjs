// A correct idempotent service behind the adapter's two functions, or one with a known fault.
//
//     node reference.mjs [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
//
// It is also a module: `retryproof run reference.mjs`. To connect your own service, see README.md.

import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const RETENTION_TICKS = 6;
const FAULTS = ["duplicate-write", "body-blind", "sliding-expiry", "forget-on-loss"];

const { fault } = parseArgs({ options: { fault: { type: "string" } } }).values;
if (fault !== undefined && !FAULTS.includes(fault)) {
  throw new Error(`--fault takes one of ${FAULTS.join(", ")}`);
}

/** Orders under idempotency keys, with a clock that the test sets. */
class Service {
  #records = new Map();
  now = 0;
  orders = 0;

  /** The answer to one request: a status and, unless refused, the order's number. */
  order(key, item) {
    const record = this.#records.get(key);
    if (record === undefined || this.now >= record.deadline) {
      return { status: 201, order: this.#remember(key, item, this.now + RETENTION_TICKS) };
    }
    if (item !== record.item && fault !== "body-blind") {
      return { status: 409, order: null };
    }
    if (fault === "duplicate-write") {
      return { status: 201, order: this.#remember(key, item, record.deadline) };
    }
    if (fault === "sliding-expiry") {
      record.deadline = this.now + RETENTION_TICKS;
    }
    return { status: 200, order: record.order };
  }

  answerWasLost(key, status) {
    if (fault === "forget-on-loss" && status !== 409) {
      this.#records.delete(key);
    }
  }

  #remember(key, item, deadline) {
    this.orders += 1;
    this.#records.set(key, { item, order: this.orders, deadline });
    return this.orders;
  }
}

let service = new Service();

export async function reset() {
  service = new Service();
}

export async function step({ at, key, value, delivery }) {
  service.now = at;
  const { status, order } = service.order(key, value);
  if (delivery === "received") {
    return { status, receipt: order, committedWrites: service.orders };
  }
  service.answerWasLost(key, status);
  return { status: null, receipt: null, committedWrites: service.orders };
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { serve } = await import("./host.mjs");
  await serve({ reset, step }, { name: fault ? `reference with ${fault}` : "reference" });
}

// A correct idempotent service behind an adapter, or one with a known fault:
//
//     node build/reference.js [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
//
// To connect your own service, see README.md.

import { parseArgs } from "node:util";

import { serve, type Adapter, type Observation, type Operation } from "./retryproof.js";

const RETENTION_TICKS = 6;
const FAULTS = ["duplicate-write", "body-blind", "sliding-expiry", "forget-on-loss"] as const;
type Fault = (typeof FAULTS)[number];

interface Order {
  readonly item: string;
  readonly number: number;
  deadline: number;
}

interface Answer {
  readonly status: 200 | 201 | 409;
  readonly order: number | null;
}

/** Takes orders under idempotency keys, with a clock that the test sets. */
class Service {
  readonly #records = new Map<string, Order>();
  now = 0;
  orders = 0;

  constructor(private readonly fault: Fault | undefined) {}

  /** The answer to one request: a status and, unless refused, the order's number. */
  order(key: string, item: string): Answer {
    const record = this.#records.get(key);
    if (record === undefined || this.now >= record.deadline) {
      return this.#create(key, item, this.now + RETENTION_TICKS);
    }
    if (item !== record.item && this.fault !== "body-blind") {
      return { status: 409, order: null };
    }
    if (this.fault === "duplicate-write") {
      return this.#create(key, item, record.deadline);
    }
    if (this.fault === "sliding-expiry") {
      record.deadline = this.now + RETENTION_TICKS;
    }
    return { status: 200, order: record.number };
  }

  answerWasLost(key: string, status: number): void {
    if (this.fault === "forget-on-loss" && status !== 409) {
      this.#records.delete(key);
    }
  }

  #create(key: string, item: string, deadline: number): Answer {
    this.orders += 1;
    this.#records.set(key, { item, number: this.orders, deadline });
    return { status: 201, order: this.orders };
  }
}

class Reference implements Adapter {
  #service: Service;

  constructor(private readonly fault: Fault | undefined) {
    this.#service = new Service(fault);
  }

  reset(): void {
    this.#service = new Service(this.fault);
  }

  step({ at, key, value, delivery }: Operation): Observation {
    this.#service.now = at;
    const { status, order } = this.#service.order(key, value);
    const committedWrites = this.#service.orders;
    if (delivery === "lost") {
      this.#service.answerWasLost(key, status);
      return { status: null, receipt: null, committedWrites };
    }
    return { status, receipt: order, committedWrites };
  }
}

function faultFromCommandLine(): Fault | undefined {
  const { fault } = parseArgs({ options: { fault: { type: "string" } } }).values;
  const known = FAULTS.find((name) => name === fault);
  if (fault !== known) {
    throw new Error(`--fault takes one of ${FAULTS.join(", ")}`);
  }
  return known;
}

const fault = faultFromCommandLine();
const name = fault === undefined ? "reference" : `reference with ${fault}`;
await serve(new Reference(fault), { name });

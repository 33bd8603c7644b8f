import { Idempotency, IdempotencyError, IdempotencyErrorCodes } from "@node-idempotency/core";
import { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";

const TICK_MS = 10_000;
const RETENTION_TICKS = 6;

// The core throws codes and leaves HTTP to its integrations. This is the table that they share:
// idempotency2HttpCodeMap of @node-idempotency/shared.
const STATUS_BY_ERROR_CODE = {
  [IdempotencyErrorCodes.IDEMPOTENCY_FINGERPRINT_MISSMATCH]: 422,
  [IdempotencyErrorCodes.IDEMPOTENCY_KEY_LEN_EXEEDED]: 400,
  [IdempotencyErrorCodes.IDEMPOTENCY_KEY_MISSING]: 400,
  [IdempotencyErrorCodes.REQUEST_IN_PROGRESS]: 409,
};

let nowMs = 0;
let committedWrites = 0;
let idempotency;

// MemoryStorageAdapter stamps and expires its records by `new Date()`, and sets no timer.
globalThis.Date = class TestDate extends Date {
  constructor(...args) {
    super(...(args.length > 0 ? args : [nowMs]));
  }

  static now() {
    return nowMs;
  }
};

function createCharge() {
  committedWrites += 1;
  return { status: 201, body: { id: committedWrites } };
}

async function answerOnce(request) {
  const stored = await idempotency.onRequest(request);
  if (stored) {
    return { status: stored.additional.status, body: stored.body };
  }
  const { status, body } = createCharge();
  await idempotency.onResponse(request, { body, additional: { status } });
  return { status, body };
}

async function answer(request) {
  try {
    return await answerOnce(request);
  } catch (error) {
    if (!(error instanceof IdempotencyError)) throw error;
    return { status: STATUS_BY_ERROR_CODE[error.code], body: { message: error.message } };
  }
}

export function reset() {
  nowMs = 0;
  committedWrites = 0;
  idempotency = new Idempotency(new MemoryStorageAdapter(), {
    cacheTTLMS: RETENTION_TICKS * TICK_MS,
  });
}

export async function step({ at, key, value, delivery }) {
  nowMs = at * TICK_MS;
  const { status, body } = await answer({
    method: "POST",
    path: "/charge",
    headers: { "idempotency-key": key },
    body: { item: value },
  });
  const received = delivery === "received";
  return {
    status: received ? status : null,
    receipt: received ? (body.id ?? null) : null,
    committedWrites,
  };
}

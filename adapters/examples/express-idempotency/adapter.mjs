import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";
import inject from "light-my-request";

let committedWrites = 0;
let service;

function createCharge(request, response) {
  // The middleware answers a retry itself, and then calls the route all the same.
  if (getSharedIdempotencyService().isHit(request)) {
    return;
  }
  committedWrites += 1;
  response.status(201).send({ id: committedWrites });
}

export function reset() {
  committedWrites = 0;
  service = express();
  service.use(express.json());
  service.post("*", idempotency());
  service.post("/charges", createCharge);
}

// The operation's `at` is for nothing here: nothing in the library reads a clock.
export async function step({ key, value, delivery }) {
  const response = await inject(service, {
    method: "POST",
    url: "/charges",
    headers: { "idempotency-key": key },
    payload: { item: value },
  });
  const received = delivery === "received";
  // A refusal is an HTML page, with no receipt to read.
  const created = response.headers["content-type"].startsWith("application/json");
  return {
    status: received ? response.statusCode : null,
    receipt: received && created ? response.json().id : null,
    committedWrites,
  };
}

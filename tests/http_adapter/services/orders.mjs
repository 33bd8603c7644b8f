// A service that takes orders under idempotency keys: correct, or with one known fault.
//
//     node orders.mjs [--port PORT] [--fault NAME]
//
// It says on stdout where it listens. No service can know by itself that its answer will be lost,
// so a header tells it.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const RETENTION_TICKS = 6;

const { values: options } = parseArgs({
  options: { port: { type: "string", default: "0" }, fault: { type: "string" } },
});

const records = new Map();
const orders = [];
let now = 0;

function commit() {
  orders.push(randomUUID());
  return orders.at(-1);
}

function create(key, item) {
  const record = records.get(key);
  if (record === undefined || now >= record.deadline) {
    const order = commit();
    records.set(key, { item, order, deadline: now + RETENTION_TICKS });
    return [201, order];
  }
  if (record.item !== item && options.fault !== "body-blind") return [409, null];
  if (options.fault === "sliding-expiry") record.deadline = now + RETENTION_TICKS;
  if (options.fault === "duplicate-write") {
    record.order = commit();
    return [201, record.order];
  }
  return [200, record.order];
}

const routes = {
  "POST /test/reset": () => {
    records.clear();
    orders.length = 0;
    return [204];
  },
  "POST /test/clock": (request, body) => {
    now = body.now;
    return [204];
  },
  "GET /test/orders": () => [200, orders],
  "POST /orders": (request, body) => {
    const key = request.headers["idempotency-key"];
    const [status, order] = create(key, body.item);
    const isLost = request.headers["x-delivery"] === "lost";
    if (isLost && options.fault === "forget-on-loss" && status !== 409) records.delete(key);
    if (status === 409) return [409, { error: "this key was used for another order" }];
    // The receipt is in a header only: the body is no JSON.
    return [status, `order ${order}`, { Location: `/orders/${order}` }];
  },
};

async function answer(request, response) {
  let text = "";
  for await (const chunk of request) text += chunk;
  const route = routes[`${request.method} ${request.url}`] ?? (() => [404, { error: "not found" }]);
  const [status, body, headers = {}] = route(request, text ? JSON.parse(text) : {});
  response.writeHead(status, headers);
  if (body === undefined) response.end();
  else response.end(typeof body === "string" ? body : JSON.stringify(body));
}

const server = createServer(answer);
server.listen(Number(options.port), "127.0.0.1", () => {
  console.log(`listening on ${server.address().port}`);
});

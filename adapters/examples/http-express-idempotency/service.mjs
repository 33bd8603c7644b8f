import express from "express";
import { getSharedIdempotencyService, idempotency } from "express-idempotency";

const committedOrders = [];

const service = express();
service.use(express.json());
service.post("*", idempotency());

service.post("/orders", (request, response) => {
  // The middleware answers a retry itself, and then calls the route all the same.
  if (getSharedIdempotencyService().isHit(request)) {
    return;
  }
  committedOrders.push(request.body);
  response.status(201).send({ id: committedOrders.length });
});

service.get("/test/orders", (request, response) => {
  response.send(committedOrders);
});

service.listen(Number(process.argv[2]), "127.0.0.1");

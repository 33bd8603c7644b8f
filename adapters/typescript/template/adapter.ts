import { serve, type Adapter, type Observation, type Operation } from "./retryproof.js";

const adapter: Adapter = {
  async reset(): Promise<void> {
    throw new Error("not connected yet: empty the service here");
  },

  async step({ at, key, value, delivery }: Operation): Promise<Observation> {
    // Set the clock to `at`, send `value` under `key`, count the writes. Then
    // return { status: 201, receipt: 1, committedWrites: 1 };
    throw new Error(`not connected yet: send ${value} under ${key} at ${at} (${delivery}) here`);
  },
};

await serve(adapter, { name: "my service" });

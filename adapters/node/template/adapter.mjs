export async function reset() {
  throw new Error("not connected yet: empty the service here");
}

export async function step({ at, key, value, delivery }) {
  // Set the clock to `at`, send `value` under `key`, count the writes. Then
  // return { status: 201, receipt: 1, committedWrites: 1 };
  throw new Error(`not connected yet: send ${value} under ${key} at ${at} (${delivery}) here`);
}

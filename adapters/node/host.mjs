// Runs a JavaScript adapter module behind the retryproof protocol, version 1.
//
//     node host.mjs ADAPTER.mjs [ARG...]     or, from a program of your own:
//
//     import { serve } from "./host.mjs";
//     await serve({ reset, step }, { name: "my service" });
//
// The module exports `reset({ signal })` and `step(operation, { signal })`, by name or as its
// default export, async or not; for the contract retryfuse `evaluate(input, { signal, text })` in
// their place or beside them, where `text` is the input as it was written, with all its digits.
// Whatever they print goes to stderr: stdout belongs to the protocol. Needs nothing but Node.js 18
// or later.

import { closeSync, openSync, realpathSync, writeSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const PROTOCOL_VERSION = 1;
const MAX_LINE_BYTES = 1024 * 1024;
const ADAPTER_FAILED = -32000;
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const OWN_METHODS = new Set(["initialize", "shutdown"]);
const ADAPTERS_METHODS = new Set(["reset", "step", "evaluate"]);
// An adapter that watches its signal should give up before the runner kills it.
const ABORT_MARGIN_MS = 50;

/** Answers requests until `shutdown` or the end of stdin; then the process exits. */
export async function serve(adapter, { name, capabilities = {} }) {
  await answerRequests(new Host(adapter, name, capabilities), takeOverStdout());
}

/** The line is no request that can be served. */
class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

class Host {
  #adapter;
  #name;
  #capabilities;
  #limitMs = 2000;

  constructor(adapter, name, capabilities) {
    this.#adapter = adapter;
    this.#name = name;
    this.#capabilities = capabilities;
  }

  async answer(method, params, line) {
    if (!OWN_METHODS.has(method) && !this.#serves(method)) {
      throw new Refusal(METHOD_NOT_FOUND, `no such method: ${method}`);
    }
    switch (method) {
      case "initialize":
        this.#limitMs = params.callTimeoutMs - ABORT_MARGIN_MS;
        return {
          protocolVersion: PROTOCOL_VERSION,
          adapter: { name: this.#name, language: `Node.js ${process.versions.node}` },
          capabilities: this.#capabilities,
        };
      case "reset":
        await this.#withSignal((signal) => this.#adapter.reset({ signal }));
        return null;
      case "step":
        return this.#withSignal((signal) => this.#adapter.step(params, { signal }));
      case "evaluate": {
        const text = textOfParams(line);
        return this.#withSignal((signal) => this.#adapter.evaluate(params, { signal, text }));
      }
      case "shutdown":
        return null;
    }
  }

  #serves(method) {
    return ADAPTERS_METHODS.has(method) && typeof this.#adapter[method] === "function";
  }

  async #withSignal(call) {
    const controller = new AbortController();
    const timer = scheduleReal(() => controller.abort(), this.#limitMs);
    try {
      return await call(controller.signal);
    } finally {
      cancelReal(timer);
    }
  }
}

// An adapter may put fake timers in their place: these are the ones that were there before.
const scheduleReal = globalThis.setTimeout;
const cancelReal = globalThis.clearTimeout;

async function answerRequests(host, answers) {
  for await (const line of linesOf(process.stdin)) {
    const { method, response } = await respond(host, line);
    writeWhole(answers, `${JSON.stringify(response)}\n`);
    if (method === "shutdown") break;
  }
  process.exit(0);
}

/** Whole lines, each cut where it is too long; what the end of input cuts off is none. */
async function* linesOf(stream) {
  let line = Buffer.alloc(0);
  for await (let bytes of stream) {
    for (let end; (end = bytes.indexOf("\n")) >= 0; bytes = bytes.subarray(end + 1)) {
      yield Buffer.concat([line, bytes.subarray(0, end)]);
      line = Buffer.alloc(0);
    }
    line = Buffer.concat([line, bytes]).subarray(0, MAX_LINE_BYTES + 2);
  }
}

async function respond(host, line) {
  let method;
  let id = null;
  try {
    const request = parse(line);
    ({ method, id = null } = request);
    const result = (await host.answer(method, request.params, line)) ?? null;
    // What can't be written as JSON is the adapter's failure, to be answered as one.
    JSON.stringify(result);
    return { method, response: { jsonrpc: "2.0", id, result } };
  } catch (error) {
    if (error instanceof Refusal) {
      const { code, message } = error;
      return { method, response: { jsonrpc: "2.0", id, error: { code, message } } };
    }
    console.error(error);
    const failure = { code: ADAPTER_FAILED, message: String(error) };
    return { method, response: { jsonrpc: "2.0", id, error: failure } };
  }
}

function parse(line) {
  const text = line.toString().replace(/\r$/, "");
  if (Buffer.byteLength(text) > MAX_LINE_BYTES) {
    throw new Refusal(INVALID_REQUEST, "the request line is longer than 1 MiB");
  }
  let request;
  try {
    request = JSON.parse(text);
  } catch {
    throw new Refusal(PARSE_ERROR, "the request line is not JSON");
  }
  if (typeof request?.method !== "string") {
    throw new Refusal(INVALID_REQUEST, "the request has no method");
  }
  return request;
}

/**
 * The protocol's own copy of stdout. The number 1 then belongs to stderr, so that what anybody
 * else prints goes there, child processes and native code included.
 */
function takeOverStdout() {
  const answers = openSync("/dev/stdout", "w");
  closeSync(1);
  openSync("/dev/stderr", "w");
  return answers;
}

function writeWhole(descriptor, text) {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written);
  }
}

/**
 * The parameters of a request as they were written: JSON.parse rounds numbers that no double
 * keeps. The request is JSON, so strings can be skipped and brackets counted.
 */
function textOfParams(line) {
  const text = line.toString();
  const token = /"(?:[^"\\]|\\.)*"|[[\]{},:]/g;
  let depth = 0;
  let name = null;
  let start = null;
  for (let found; (found = token.exec(text)) !== null; ) {
    const [mark] = found;
    if (mark === "]" || mark === "}") depth -= 1;
    const ends = start !== null && (depth === 0 || (depth === 1 && mark === ","));
    if (ends) return text.slice(start, found.index).trim();
    if (mark === "[" || mark === "{") depth += 1;
    if (depth === 1 && mark === ":" && name === '"params"') start = token.lastIndex;
    if (depth === 1) name = mark;
  }
  return undefined;
}

function isFunction(value) {
  return typeof value === "function";
}

async function load(path) {
  const module = await import(pathToFileURL(path));
  const isNamed =
    module.default === undefined || [module.reset, module.evaluate].some(isFunction);
  const adapter = isNamed ? module : module.default;
  const needed = isFunction(adapter.evaluate) ? [] : ["reset", "step"];
  for (const name of needed) {
    if (!isFunction(adapter[name])) {
      throw new TypeError(`${path} exports no function ${name}, by name or in its default export`);
    }
  }
  const name = basename(path, extname(path));
  return new Host(adapter, name, module.capabilities ?? adapter.capabilities ?? {});
}

async function main() {
  const path = resolve(process.argv[2]);
  process.argv.splice(2, 1);
  const answers = takeOverStdout();
  let host;
  try {
    host = await load(path);
  } catch (error) {
    host = { answer: () => Promise.reject(error) };
  }
  await answerRequests(host, answers);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main();
}

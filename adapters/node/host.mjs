// Runs a JavaScript adapter module behind the retryproof protocol, version 1.
//
//     node host.mjs ADAPTER.mjs [ARG...]     or, from a program of your own:
//
//     import { serve } from "./host.mjs";
//     await serve({ reset, step }, { name: "my service" });
//
// The module exports `reset({ signal })` and `step(operation, { signal })`, by name or as its
// default export, async or not. Whatever they print goes to stderr: stdout belongs to the
// protocol. Needs nothing but Node.js 18 or later.

import { closeSync, openSync, realpathSync, writeSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const PROTOCOL_VERSION = 1;
const ADAPTER_FAILED = -32000;
const METHOD_NOT_FOUND = -32601;
// An adapter that watches its signal should give up before the runner kills it.
const ABORT_MARGIN_MS = 50;

/** Answers requests until `shutdown` or the end of stdin; then the process exits. */
export async function serve(adapter, { name, capabilities = {} }) {
  await answerRequests(new Host(adapter, name, capabilities), takeOverStdout());
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

  async answer(method, params) {
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
      case "shutdown":
        return null;
      default:
        throw Object.assign(new Error(`no such method: ${method}`), { code: METHOD_NOT_FOUND });
    }
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
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    writeWhole(answers, `${await response(host, id, method, params)}\n`);
    if (method === "shutdown") break;
  }
  process.exit(0);
}

async function response(host, id, method, params) {
  try {
    const result = (await host.answer(method, params)) ?? null;
    return JSON.stringify({ jsonrpc: "2.0", id, result });
  } catch (error) {
    console.error(error);
    const code = error?.code === METHOD_NOT_FOUND ? METHOD_NOT_FOUND : ADAPTER_FAILED;
    return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: String(error) } });
  }
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

async function load(path) {
  const module = await import(pathToFileURL(path));
  const isNamed = module.default === undefined || typeof module.reset === "function";
  const adapter = isNamed ? module : module.default;
  for (const name of ["reset", "step"]) {
    if (typeof adapter[name] !== "function") {
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

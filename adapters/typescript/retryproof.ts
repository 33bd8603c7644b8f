// Lets the retryproof runner drive a TypeScript program: speaks the adapter protocol, version 1,
// on stdin and stdout. Whatever the program itself prints goes to stderr. Runs on Node.js 18 or
// later and needs nothing else.

import { closeSync, openSync, writeSync } from "node:fs";

/** One request for the service: at tick `at`, send `value` under `key`. */
export interface Operation {
  readonly at: number;
  readonly key: string;
  readonly value: string;
  /** Whether the service's response reaches its caller. */
  readonly delivery: "received" | "lost";
}

/**
 * What the caller saw, and the writes measured apart from it. A lost response has neither status
 * nor receipt; a receipt is the ordinal of the write that the response names.
 */
export interface Observation {
  readonly status: number | null;
  readonly receipt: number | null;
  readonly committedWrites: number;
}

export interface CallOptions {
  /** Aborts shortly before the runner gives up and kills the process. */
  readonly signal: AbortSignal;
}

/** Connects a service. */
export interface Adapter {
  /** Empties the service and puts its clock to tick 0. */
  reset(options: CallOptions): void | Promise<void>;
  step(operation: Operation, options: CallOptions): Observation | Promise<Observation>;
}

export interface ServeOptions {
  readonly name: string;
  /** For a service without a test clock: the runner then waits in real time. */
  readonly secondsPerTick?: number;
}

/** Answers the runner's requests until it says `shutdown` or closes stdin; then the process ends. */
export async function serve(adapter: Adapter, options: ServeOptions): Promise<never> {
  const host = new Host(adapter, options);
  const answers = takeOverStdout();
  for await (const line of linesOf(process.stdin)) {
    writeWhole(answers, `${JSON.stringify(await host.respond(line))}\n`);
    if (host.finished) break;
  }
  process.exit(0);
}

const PROTOCOL_VERSION = 1;
const MAX_LINE_BYTES = 1024 * 1024;
const ABORT_MARGIN_MS = 50;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const ADAPTER_FAILED = -32000;

// A service may put fake timers in their place: these are the ones that were there before.
const { setTimeout, clearTimeout } = globalThis;

interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: unknown;
}

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

class Host {
  finished = false;
  #limitMs = 2000;

  constructor(
    private readonly adapter: Adapter,
    private readonly options: ServeOptions,
  ) {}

  async respond(line: Buffer): Promise<object> {
    let id: unknown = null;
    try {
      const request = parse(line);
      id = request.id ?? null;
      const result = await this.#answer(request);
      return { jsonrpc: "2.0", id, result: result ?? null };
    } catch (error) {
      console.error(error);
      return { jsonrpc: "2.0", id, error: describe(error) };
    }
  }

  async #answer({ method, params }: Request): Promise<unknown> {
    switch (method) {
      case "initialize":
        return this.#initialize(params as { callTimeoutMs?: number } | undefined);
      case "reset":
        return this.#call((options) => this.adapter.reset(options));
      case "step":
        return this.#call((options) => this.adapter.step(params as Operation, options));
      case "shutdown":
        this.finished = true;
        return null;
      default:
        throw new Refusal(METHOD_NOT_FOUND, `no such method: ${method}`);
    }
  }

  #initialize(params: { callTimeoutMs?: number } | undefined): object {
    this.#limitMs = params?.callTimeoutMs ?? this.#limitMs;
    const { name, secondsPerTick } = this.options;
    return {
      protocolVersion: PROTOCOL_VERSION,
      adapter: { name, language: `TypeScript on Node.js ${process.versions.node}` },
      capabilities: secondsPerTick === undefined ? {} : { clock: { secondsPerTick } },
    };
  }

  async #call<T>(call: (options: CallOptions) => T | Promise<T>): Promise<T> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), this.#limitMs - ABORT_MARGIN_MS);
    try {
      return await call({ signal: controller.signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

function describe(error: unknown): { code: number; message: string } {
  return error instanceof Refusal
    ? { code: error.code, message: error.message }
    : { code: ADAPTER_FAILED, message: String(error) };
}

function parse(line: Buffer): Request {
  if (line.length > MAX_LINE_BYTES) {
    throw new Refusal(INVALID_REQUEST, "the request line is longer than 1 MiB");
  }
  let request: Partial<Request> | null;
  try {
    request = JSON.parse(line.toString());
  } catch {
    throw new Refusal(PARSE_ERROR, "the request line is not JSON");
  }
  if (typeof request?.method !== "string") {
    throw new Refusal(INVALID_REQUEST, "the request has no method");
  }
  return request as Request;
}

/** The lines without their ends, cut where they are too long. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const newline = "\n".charCodeAt(0);
  const carriageReturn = "\r".charCodeAt(0);
  const most = MAX_LINE_BYTES + "\r\n".length;
  let unread = Buffer.alloc(0);
  for await (const chunk of input) {
    unread = Buffer.concat([unread.subarray(0, most), chunk]);
    for (let end = unread.indexOf(newline); end >= 0; end = unread.indexOf(newline)) {
      const hasReturn = unread[end - 1] === carriageReturn;
      yield unread.subarray(0, hasReturn ? end - 1 : end);
      unread = unread.subarray(end + 1);
    }
  }
}

/**
 * The protocol's own copy of stdout. The number 1 then belongs to stderr, so that what anybody
 * else prints goes there, child processes and native code included.
 */
function takeOverStdout(): number {
  const answers = openSync("/dev/stdout", "w");
  closeSync(1);
  openSync("/dev/stderr", "w");
  return answers;
}

function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written);
  }
}

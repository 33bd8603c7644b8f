// Prints to stdout in reset, and fails in step.

import { spawnSync } from "node:child_process";

import { serve } from "./host.mjs";

function reset() {
  console.log("printed by the program");
  spawnSync("echo", ["printed by a child process"], { stdio: "inherit" });
}

function step() {
  throw new Error('Größe 日本語 😀 "quoted" back\\slash\nnext line');
}

await serve({ reset, step }, { name: "probe", capabilities: { clock: { secondsPerTick: 0.25 } } });

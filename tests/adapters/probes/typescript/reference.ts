// Prints to stdout in reset, and fails in step.

import { spawnSync } from "node:child_process";

import { serve } from "./retryproof.js";

await serve(
  {
    reset(): void {
      console.log("printed by the program");
      spawnSync("echo", ["printed by a child process"], { stdio: "inherit" });
    },
    step(): never {
      throw new Error('Größe 日本語 😀 "quoted" back\\slash\nnext line');
    },
  },
  { name: "probe", secondsPerTick: 0.25 },
);

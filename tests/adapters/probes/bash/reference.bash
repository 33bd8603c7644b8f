#!/usr/bin/env bash
#
# Prints to stdout in reset, and fails in step.

# shellcheck source=/dev/null
source "$(dirname -- "${BASH_SOURCE[0]}")/retryproof.bash"

reset() {
  echo 'printed by the program'
  env echo 'printed by a child process'
}

step() {
  fail $'Größe 日本語 😀 "quoted" back\\slash\nnext line'
}

serve probe 0.25

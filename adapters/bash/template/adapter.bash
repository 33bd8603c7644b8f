#!/usr/bin/env bash
source "$(dirname -- "${BASH_SOURCE[0]}")/retryproof.bash"

reset() {
  fail 'not connected yet: empty the service here'
}

step() {
  local at=$1 key=$2 value=$3 delivery=$4
  # Set the clock to $at, send $value under $key, count the writes. Then
  # observe 201 1 1
  fail "not connected yet: send $value under $key at tick $at ($delivery) here"
}

serve 'my service'

#!/usr/bin/env bash
#
# A correct idempotent service behind an adapter, or one with a known fault:
#
#     bash reference.bash [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
#
# To connect your own service, see README.md.

set -u

# shellcheck source=retryproof.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/retryproof.bash"

readonly RETENTION_TICKS=6

# A service that takes orders under idempotency keys, with a clock that the test sets.
empty_service() {
  declare -gA item_of=() order_of=() deadline_of=()
  now=0 orders=0
}

# The answer to one request, in `status` and, null where it was refused, `order`.
take_order() {
  local key=$1 item=$2
  if [[ -z ${order_of[$key]-} ]] || ((now >= deadline_of[$key])); then
    status=201
    remember "$key" "$item" $((now + RETENTION_TICKS))
  elif [[ $item != "${item_of[$key]}" && $fault != body-blind ]]; then
    status=409 order=null
  elif [[ $fault == duplicate-write ]]; then
    status=201
    remember "$key" "$item" "${deadline_of[$key]}"
  else
    if [[ $fault == sliding-expiry ]]; then
      deadline_of[$key]=$((now + RETENTION_TICKS))
    fi
    status=200 order=${order_of[$key]}
  fi
}

answer_was_lost() {
  local key=$1
  if [[ $fault == forget-on-loss && $status != 409 ]]; then
    unset "order_of[$key]"
  fi
}

remember() {
  local key=$1 item=$2 deadline=$3
  order=$((++orders))
  item_of[$key]=$item order_of[$key]=$order deadline_of[$key]=$deadline
}

reset() {
  empty_service
}

step() {
  local at=$1 key=$2 value=$3 delivery=$4
  local status order
  now=$at
  take_order "$key" "$value"
  if [[ $delivery == lost ]]; then
    answer_was_lost "$key"
    status=null order=null
  fi
  observe "$status" "$order" "$orders"
}

case $* in
  '') fault='' ;;
  '--fault duplicate-write' | '--fault body-blind' | '--fault sliding-expiry' | \
    '--fault forget-on-loss') fault=$2 ;;
  *)
    echo 'usage: reference.bash [--fault NAME]' >&2
    exit 2
    ;;
esac

empty_service
serve "reference${fault:+ with $fault}"

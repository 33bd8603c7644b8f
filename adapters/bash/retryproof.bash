# shellcheck shell=bash
#
# Lets the retryproof runner drive a Bash script: speaks the adapter protocol, version 1, on
# stdin and stdout. Whatever the script and its commands print goes to stderr. Needs Bash 4.4 or
# later and jq.
#
#     source retryproof.bash
#     reset() { ...; }                          empties the service, puts its clock to tick 0
#     step() { local at=$1 key=$2 value=$3 delivery=$4; ...; observe STATUS RECEIPT WRITES; }
#     serve 'my service' [SECONDS_PER_TICK]
#
# `observe` says what the caller saw, null for what there is none of, and the writes measured
# apart from it. `fail MESSAGE` in its place says that the call could not be done.

readonly RETRYPROOF_PROTOCOL_VERSION=1
readonly RETRYPROOF_MAX_LINE_BYTES=1048576
readonly RETRYPROOF_PARSE_ERROR=-32700
readonly RETRYPROOF_INVALID_REQUEST=-32600
readonly RETRYPROOF_METHOD_NOT_FOUND=-32601
readonly RETRYPROOF_INVALID_PARAMS=-32602
readonly RETRYPROOF_ADAPTER_FAILED=-32000

# A line of JSON in, a line of its six parts out, each as JSON and so without tabs.
# shellcheck disable=SC2016 # $params is jq's.
readonly RETRYPROOF_TAKE_APART='
  try (
    fromjson
    | if type == "object" then . else {} end
    | (.params | if type == "object" then . else {} end) as $params
    | [.id, .method, $params.at, $params.key, $params.value, $params.delivery]
    | map(tojson) | join("\t")
  ) catch "not JSON"'

observe() {
  retryproof_result="{\"status\":$1,\"receipt\":$2,\"committedWrites\":$3}"
}

fail() {
  retryproof_refuse "$RETRYPROOF_ADAPTER_FAILED" "$*"
}

# Answers the runner's requests until it says `shutdown` or closes stdin.
serve() {
  retryproof_name=$1 retryproof_seconds_per_tick=${2-}
  # What the script and its commands print must not reach the protocol, nor may they read a
  # request away.
  exec {retryproof_requests}<&0 {retryproof_answers}>&1 0</dev/null 1>&2
  coproc RETRYPROOF_PARSER {
    exec {retryproof_requests}<&- {retryproof_answers}>&-
    exec jq --unbuffered --raw-input --raw-output "$RETRYPROOF_TAKE_APART"
  }
  local retryproof_line retryproof_parser=$RETRYPROOF_PARSER_PID
  local retryproof_to_parser=${RETRYPROOF_PARSER[1]} retryproof_from_parser=${RETRYPROOF_PARSER[0]}
  retryproof_method=''
  while [[ $retryproof_method != '"shutdown"' ]] && retryproof_read_line; do
    retryproof_respond >&"$retryproof_answers"
  done
  # The parser must be gone before the adapter is, or it would count as left behind.
  exec {retryproof_to_parser}>&-
  wait "$retryproof_parser"
}

# Puts the next line into retryproof_line, cut where it is too long.
retryproof_read_line() {
  local LC_ALL=C most=$((RETRYPROOF_MAX_LINE_BYTES + 2)) rest
  IFS= read -r -n "$most" -u "$retryproof_requests" retryproof_line || return
  if ((${#retryproof_line} == most)); then
    while IFS= read -r -n "$most" -u "$retryproof_requests" rest && ((${#rest} == most)); do
      continue
    done
  fi
  # A pattern would take seconds to find nothing at the end of a long line.
  if [[ ${retryproof_line: -1} == $'\r' ]]; then
    retryproof_line=${retryproof_line:0:-1}
  fi
}

# Prints the response to retryproof_line.
retryproof_respond() {
  retryproof_id=null retryproof_method='' retryproof_result=null
  retryproof_code=0 retryproof_failure=''
  if retryproof_parse && retryproof_answer; then
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$retryproof_id" "$retryproof_result"
    return
  fi
  printf '%s\n' "$retryproof_failure" >&2
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}\n' \
    "$retryproof_id" "$retryproof_code" "$(retryproof_quote "$retryproof_failure")"
}

retryproof_parse() {
  if retryproof_is_too_long; then
    retryproof_refuse "$RETRYPROOF_INVALID_REQUEST" 'the request line is longer than 1 MiB'
    return
  fi
  local parts
  printf '%s\n' "$retryproof_line" >&"$retryproof_to_parser"
  IFS= read -r -u "$retryproof_from_parser" parts
  if [[ $parts == 'not JSON' ]]; then
    retryproof_refuse "$RETRYPROOF_PARSE_ERROR" 'the request line is not JSON'
    return
  fi
  IFS=$'\t' read -r retryproof_id retryproof_method retryproof_at retryproof_key \
    retryproof_value retryproof_delivery <<<"$parts"
  if [[ $retryproof_method != '"'* ]]; then
    retryproof_refuse "$RETRYPROOF_INVALID_REQUEST" 'the request has no method'
  fi
}

retryproof_is_too_long() {
  local LC_ALL=C
  ((${#retryproof_line} > RETRYPROOF_MAX_LINE_BYTES))
}

retryproof_answer() {
  case $retryproof_method in
    '"initialize"') retryproof_result=$(retryproof_identity) ;;
    '"reset"') retryproof_call reset ;;
    '"step"') retryproof_step ;;
    '"shutdown"') ;;
    *)
      retryproof_refuse "$RETRYPROOF_METHOD_NOT_FOUND" \
        "no such method: $(jq --raw-output . <<<"$retryproof_method")"
      ;;
  esac
}

retryproof_step() {
  local at=$retryproof_at key=$retryproof_key value=$retryproof_value
  local delivery=$retryproof_delivery
  if [[ ! $at =~ ^[0-9]+$ || $key != '"'* || $value != '"'* || $delivery != '"'* ]]; then
    retryproof_refuse "$RETRYPROOF_INVALID_PARAMS" 'an operation has at, key, value, delivery'
    return
  fi
  retryproof_call step "$at" "${key//\"/}" "${value//\"/}" "${delivery//\"/}" || return
  if [[ $retryproof_result == null ]]; then
    fail 'step called neither observe nor fail'
  fi
}

# Calls one of the script's functions. They print where everybody else does: to stderr.
retryproof_call() {
  if ! "$@" >&2; then
    fail "${retryproof_failure:-$1 failed}"
  fi
}

retryproof_identity() {
  local clock=''
  if [[ -n $retryproof_seconds_per_tick ]]; then
    clock="\"clock\":{\"secondsPerTick\":$retryproof_seconds_per_tick}"
  fi
  printf '{"protocolVersion":%d,"adapter":{"name":%s,"language":"Bash %s"},"capabilities":{%s}}' \
    "$RETRYPROOF_PROTOCOL_VERSION" "$(retryproof_quote "$retryproof_name")" \
    "${BASH_VERSION%%[!0-9.]*}" "$clock"
}

# Notes why a request gets no result.
retryproof_refuse() {
  retryproof_code=$1 retryproof_failure=$2
  return 1
}

retryproof_quote() {
  printf '%s' "$1" | jq --raw-input --slurp .
}

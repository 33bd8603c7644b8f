--- Lets the retryproof runner drive a Lua program: speaks the adapter protocol, version 1, on
-- stdin and stdout. What the program prints with print, io.write or io.stdout goes to stderr.
-- Needs Lua 5.3 or later and nothing else.
--
--     local retryproof = require("retryproof")
--     retryproof.serve({ name = "my service", reset = reset, step = step })

local retryproof = {}

local PROTOCOL_VERSION = 1
local MAX_LINE_BYTES = 1024 * 1024
local MAX_DEPTH = 100

local PARSE_ERROR = -32700
local INVALID_REQUEST = -32600
local METHOD_NOT_FOUND = -32601
local INVALID_PARAMS = -32602
local ADAPTER_FAILED = -32000

local REPLACEMENT_CHARACTER = utf8.char(0xFFFD)

local ESCAPES = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/",
  b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

--- Takes a JSON text apart, or raises an error. A number keeps its own spelling, so that an id
-- can be echoed as it came; arrays, of which the protocol makes no use, become `true`.
local function decode(text)
  local at, depth = 1, 0
  local value

  local function take(pattern)
    local first, last = text:find("^" .. pattern, at)
    if first then
      at = last + 1
      return text:sub(first, last)
    end
  end

  local function require_match(pattern)
    return take(pattern) or error("not JSON at byte " .. at)
  end

  local function skip_space()
    take("[ \t\n\r]*")
  end

  local function utf16()
    local first = tonumber(require_match("%x%x%x%x"), 16)
    local second = first >= 0xD800 and first < 0xDC00 and text:match("^\\u([dD][c-fC-F]%x%x)", at)
    if second then
      at = at + #"\\uDC00"
      return utf8.char(0x10000 + (first - 0xD800) * 0x400 + tonumber(second, 16) - 0xDC00)
    end
    local is_half_a_pair = first >= 0xD800 and first < 0xE000
    return is_half_a_pair and REPLACEMENT_CHARACTER or utf8.char(first)
  end

  local function string()
    local parts = {}
    require_match('"')
    while not take('"') do
      if take("\\") then
        local kind = require_match('["\\/bfnrtu]')
        parts[#parts + 1] = kind == "u" and utf16() or ESCAPES[kind]
      else
        parts[#parts + 1] = require_match('[^"\\\0-\31]+')
      end
    end
    return table.concat(parts)
  end

  local function number()
    local start = at
    take("%-")
    require_match(text:find("^0", at) and "0" or "%d+")
    if take("%.") then
      require_match("%d+")
    end
    if take("[eE]") then
      require_match("[+-]?%d+")
    end
    return { spelling = text:sub(start, at - 1) }
  end

  local function elements(open, close, element)
    require_match(open)
    -- Hostile nesting must not overflow the stack.
    depth = depth + 1
    assert(depth <= MAX_DEPTH, "nested too deep")
    skip_space()
    if not take(close) then
      repeat
        skip_space()
        element()
        skip_space()
      until not take(",")
      require_match(close)
    end
    depth = depth - 1
  end

  local function object()
    local members = {}
    elements("{", "}", function()
      local name = string()
      skip_space()
      require_match(":")
      members[name] = value()
    end)
    return members
  end

  function value()
    skip_space()
    local first = text:sub(at, at)
    if first == "{" then
      return object()
    elseif first == "[" then
      elements("%[", "%]", value)
      return true
    elseif first == '"' then
      return string()
    elseif take("true") then
      return true
    elseif take("false") then
      return false
    elseif take("null") then
      return nil
    end
    return number()
  end

  local whole = value()
  skip_space()
  assert(at > #text, "more than one value")
  return whole
end

local function as_utf8(text)
  local parts, at = {}, 1
  local length, invalid = utf8.len(text)
  while not length do
    parts[#parts + 1] = text:sub(at, invalid - 1)
    parts[#parts + 1] = REPLACEMENT_CHARACTER
    at = invalid + 1
    length, invalid = utf8.len(text, at)
  end
  return table.concat(parts) .. text:sub(at)
end

local function quote(text)
  local escaped = as_utf8(text):gsub('[%c"\\]', function(character)
    return string.format("\\u%04x", character:byte())
  end)
  return '"' .. escaped .. '"'
end

--- Raises the reason why a request gets no result.
local function refuse(code, message)
  error(setmetatable({ code = code }, { __tostring = function() return message end }))
end

--- The next line without its end, cut where it is too long; nil at the end of input. One byte a
-- read, out of the buffer: a read of more would wait for more, and a whole line has no bound.
local function read_line(requests)
  local bytes = {}
  local byte = requests:read(1)
  while byte and byte ~= "\n" do
    if #bytes < MAX_LINE_BYTES + #"\r\n" then
      bytes[#bytes + 1] = byte
    end
    byte = requests:read(1)
  end
  return byte and table.concat(bytes):gsub("\r$", "")
end

local function parse(line)
  if #line > MAX_LINE_BYTES then
    refuse(INVALID_REQUEST, "the request line is longer than 1 MiB")
  end
  local is_json, request = pcall(decode, line)
  if not is_json or not utf8.len(line) then
    refuse(PARSE_ERROR, "the request line is not JSON")
  end
  if type(request) ~= "table" or type(request.method) ~= "string" then
    refuse(INVALID_REQUEST, "the request has no method")
  end
  return request
end

local function identity(adapter)
  local clock = ""
  if adapter.seconds_per_tick then
    clock = '"clock":{"secondsPerTick":' .. adapter.seconds_per_tick .. "}"
  end
  return string.format(
    '{"protocolVersion":%d,"adapter":{"name":%s,"language":%s},"capabilities":{%s}}',
    PROTOCOL_VERSION, quote(adapter.name), quote(_VERSION), clock
  )
end

local function operation(params)
  local at = type(params) == "table" and type(params.at) == "table" and params.at.spelling
  if not at then
    refuse(INVALID_PARAMS, "the operation has no tick")
  end
  for _, member in ipairs({ "key", "value", "delivery" }) do
    if type(params[member]) ~= "string" then
      refuse(INVALID_PARAMS, "the operation has no " .. member)
    end
  end
  return {
    at = math.tointeger(tonumber(at)),
    key = params.key,
    value = params.value,
    delivery = params.delivery,
  }
end

local function integer_or_null(number)
  return number and string.format("%d", number) or "null"
end

local function observation(seen)
  assert(type(seen) == "table" and seen.committed_writes, "step returned no committed_writes")
  return string.format(
    '{"status":%s,"receipt":%s,"committedWrites":%d}',
    integer_or_null(seen.status), integer_or_null(seen.receipt), seen.committed_writes
  )
end

local function answer(adapter, request)
  if request.method == "initialize" then
    return identity(adapter)
  elseif request.method == "reset" then
    adapter.reset()
  elseif request.method == "step" then
    return observation(adapter.step(operation(request.params)))
  elseif request.method ~= "shutdown" then
    refuse(METHOD_NOT_FOUND, "no such method: " .. request.method)
  end
  return "null"
end

local function log_failure(failure)
  io.stderr:write(debug.traceback(tostring(failure), 2), "\n")
  return failure
end

local function echo(id)
  if type(id) == "table" then
    return id.spelling
  end
  return type(id) == "string" and quote(id) or "null"
end

--- The response to a line, and whether it is the last one.
local function respond(adapter, line)
  local request
  local succeeded, outcome = xpcall(function()
    request = parse(line)
    return answer(adapter, request)
  end, log_failure)
  local id = echo(request and request.id)
  if succeeded then
    local response = '{"jsonrpc":"2.0","id":%s,"result":%s}\n'
    return response:format(id, outcome), request.method == "shutdown"
  end
  local code = type(outcome) == "table" and outcome.code or ADAPTER_FAILED
  local response = '{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}\n'
  return response:format(id, code, quote(tostring(outcome)))
end

--- The protocol's own stdin and stdout. Lua can't redirect the numbers 0 and 1, so a child
-- process still gets them: give it `< /dev/null >&2`.
local function take_over_stdio()
  local requests, answers = io.stdin, io.stdout
  io.input("/dev/null")
  io.output(io.stderr)
  io.stdin, io.stdout = io.input(), io.output()
  function _G.print(...)
    local texts = table.pack(...)
    for index = 1, texts.n do
      texts[index] = tostring(texts[index])
    end
    io.stderr:write(table.concat(texts, "\t"), "\n")
  end
  return requests, answers
end

--- Answers the runner's requests until it says `shutdown` or closes stdin.
--
-- `adapter.reset()` empties the service and puts its clock to tick 0. `adapter.step(operation)`
-- gets at, key, value and delivery ("received" or "lost") and returns a table of status, receipt
-- and committed_writes. Both raise an error to say that they failed. With
-- `adapter.seconds_per_tick`, for a service without a test clock, the runner waits in real time.
function retryproof.serve(adapter)
  local requests, answers = take_over_stdio()
  for line in read_line, requests do
    local response, finished = respond(adapter, line)
    answers:write(response)
    answers:flush()
    if finished then
      return
    end
  end
end

return retryproof

--- A correct idempotent service behind an adapter, or one with a known fault:
--
--     lua reference.lua [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
--
-- To connect your own service, see README.md.

package.path = (arg[0]:match("^.*/") or "./") .. "?.lua;" .. package.path

local retryproof = require("retryproof")

local RETENTION_TICKS = 6
local FAULTS = {
  ["duplicate-write"] = true,
  ["body-blind"] = true,
  ["sliding-expiry"] = true,
  ["forget-on-loss"] = true,
}

--- Takes orders under idempotency keys, with a clock that the test sets.
local Service = {}
Service.__index = Service

function Service.new(fault)
  return setmetatable({ fault = fault, records = {}, now = 0, orders = 0 }, Service)
end

--- The answer to one request: a status and, unless refused, the order's number.
function Service:order(key, item)
  local record = self.records[key]
  if not record or self.now >= record.deadline then
    return 201, self:remember(key, item, self.now + RETENTION_TICKS)
  end
  if item ~= record.item and self.fault ~= "body-blind" then
    return 409, nil
  end
  if self.fault == "duplicate-write" then
    return 201, self:remember(key, item, record.deadline)
  end
  if self.fault == "sliding-expiry" then
    record.deadline = self.now + RETENTION_TICKS
  end
  return 200, record.order
end

function Service:answer_was_lost(key, status)
  if self.fault == "forget-on-loss" and status ~= 409 then
    self.records[key] = nil
  end
end

function Service:remember(key, item, deadline)
  self.orders = self.orders + 1
  self.records[key] = { item = item, order = self.orders, deadline = deadline }
  return self.orders
end

local function fault_from_command_line()
  if #arg == 0 then
    return nil
  end
  assert(#arg == 2 and arg[1] == "--fault", "usage: lua reference.lua [--fault NAME]")
  assert(FAULTS[arg[2]], "there is no such fault")
  return arg[2]
end

local fault = fault_from_command_line()
local service = Service.new(fault)

local function reset()
  service = Service.new(fault)
end

local function step(operation)
  service.now = operation.at
  local status, receipt = service:order(operation.key, operation.value)
  if operation.delivery == "lost" then
    service:answer_was_lost(operation.key, status)
    status, receipt = nil, nil
  end
  return { status = status, receipt = receipt, committed_writes = service.orders }
end

retryproof.serve({
  name = fault and "reference with " .. fault or "reference",
  reset = reset,
  step = step,
})

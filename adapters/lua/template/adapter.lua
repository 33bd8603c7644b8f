local retryproof = require("retryproof")

local function reset()
  error("not connected yet: empty the service here")
end

local function step(operation)
  -- Set the clock to operation.at, send operation.value under operation.key, count the writes.
  -- Then return { status = 201, receipt = 1, committed_writes = 1 }
  error("not connected yet: send " .. operation.value .. " here")
end

retryproof.serve({ name = "my service", reset = reset, step = step })

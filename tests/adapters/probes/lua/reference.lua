-- Prints to stdout in reset, and fails in step.

package.path = (arg[0]:match("^.*/") or "./") .. "?.lua;" .. package.path

local retryproof = require("retryproof")

retryproof.serve({
  name = "probe",
  seconds_per_tick = 0.25,
  reset = function()
    print("printed by the program")
    io.write("and written\n")
    io.stdout:write("in other ways\n")
  end,
  step = function()
    error("Größe 日本語 😀 \"quoted\" back\\slash\nnext line")
  end,
})

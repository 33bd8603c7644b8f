# frozen_string_literal: true

require_relative "retryproof"

# Prints to stdout in reset, and fails in step.
class Probe
  def reset
    puts "printed by the program"
    system("echo", "printed by a child process")
  end

  def step(_operation)
    raise "Größe 日本語 😀 \"quoted\" back\\slash\nnext line"
  end
end

Retryproof.serve(Probe.new, name: "probe", seconds_per_tick: 0.25)

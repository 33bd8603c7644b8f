# frozen_string_literal: true

require_relative "retryproof"

class Adapter
  def reset
    raise "not connected yet: empty the service here"
  end

  def step(operation)
    # Set the clock to operation.at, send operation.value under operation.key, count the writes.
    # Then return Retryproof::Observation.new(status: 201, receipt: 1, committed_writes: 1)
    raise "not connected yet: send a request here"
  end
end

Retryproof.serve(Adapter.new, name: "my service")

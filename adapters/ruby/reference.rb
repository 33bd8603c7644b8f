# frozen_string_literal: true

# A correct idempotent service behind an adapter, or one with a known fault:
#
#     ruby reference.rb [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
#
# To connect your own service, see README.md.

require "optparse"
require_relative "retryproof"

FAULTS = %w[duplicate-write body-blind sliding-expiry forget-on-loss].freeze

# Takes orders under idempotency keys, with a clock that the test sets.
class Service
  RETENTION_TICKS = 6
  Record = Struct.new(:item, :order, :deadline)

  attr_accessor :now
  attr_reader :orders

  def initialize(fault)
    @fault = fault
    @records = {}
    @now = 0
    @orders = 0
  end

  # The answer to one request: a status and, unless refused, the order's number.
  def order(key, item)
    record = @records[key]
    if record.nil? || now >= record.deadline
      return [201, remember(key, item, now + RETENTION_TICKS)]
    end
    return [409, nil] if item != record.item && @fault != "body-blind"
    return [201, remember(key, item, record.deadline)] if @fault == "duplicate-write"

    record.deadline = now + RETENTION_TICKS if @fault == "sliding-expiry"
    [200, record.order]
  end

  def answer_was_lost(key, status)
    @records.delete(key) if @fault == "forget-on-loss" && status != 409
  end

  private

  def remember(key, item, deadline)
    @orders += 1
    @records[key] = Record.new(item, @orders, deadline)
    @orders
  end
end

# Connects the service.
class Reference
  def initialize(fault)
    @fault = fault
    reset
  end

  def reset
    @service = Service.new(@fault)
  end

  def step(operation)
    @service.now = operation.at
    status, receipt = @service.order(operation.key, operation.value)
    if operation.lost?
      @service.answer_was_lost(operation.key, status)
      status = receipt = nil
    end
    Retryproof::Observation.new(
      status: status, receipt: receipt, committed_writes: @service.orders
    )
  end
end

fault = nil
OptionParser.new { |options| options.on("--fault NAME", FAULTS) { |name| fault = name } }.parse!

name = ["reference", *fault].join(" with ")
Retryproof.serve(Reference.new(fault), name: name)

# frozen_string_literal: true

require "json"

# Lets the retryproof runner drive a Ruby program: speaks the adapter protocol, version 1, on
# stdin and stdout. Whatever the program itself prints goes to stderr. Needs Ruby 3.0 or later
# and nothing else.
module Retryproof
  PROTOCOL_VERSION = 1
  MAX_LINE_BYTES = 1024 * 1024

  PARSE_ERROR = -32_700
  INVALID_REQUEST = -32_600
  METHOD_NOT_FOUND = -32_601
  INVALID_PARAMS = -32_602
  ADAPTER_FAILED = -32_000

  # One request for the service: at tick `at`, send `value` under `key`.
  Operation = Struct.new(:at, :key, :value, :delivery, keyword_init: true) do
    def lost?
      delivery == "lost"
    end
  end

  # What the caller saw, and the writes measured apart from it. A lost response has neither
  # status nor receipt; a receipt is the ordinal of the write that the response names.
  Observation = Struct.new(:status, :receipt, :committed_writes, keyword_init: true)

  # Why a request gets no result.
  class Refusal < StandardError
    attr_reader :code

    def initialize(code, message)
      super(message)
      @code = code
    end
  end

  # Answers the runner's requests until it says `shutdown` or closes stdin. The adapter has
  # `reset`, which empties the service and puts its clock to tick 0, and `step(operation)`,
  # which returns an Observation. With `seconds_per_tick`, for a service without a test clock,
  # the runner waits in real time.
  def self.serve(adapter, name:, seconds_per_tick: nil)
    Host.new(adapter, name, seconds_per_tick).serve
  end

  # The adapter's end of one conversation.
  class Host
    def initialize(adapter, name, seconds_per_tick)
      @adapter = adapter
      @name = name
      @seconds_per_tick = seconds_per_tick
      @finished = false
    end

    def serve
      requests, answers = take_over_stdio
      until @finished || (line = read_line(requests)).nil?
        answers.write("#{respond(line)}\n")
      end
    end

    private

    # The protocol's own copies of stdin and stdout. What anybody else prints, child processes
    # included, goes to stderr, and nobody else can read a request away.
    def take_over_stdio
      requests = $stdin.dup.binmode
      answers = $stdout.dup.binmode
      answers.sync = true
      $stdin.reopen(File::NULL)
      $stdout.reopen($stderr)
      $stdout.sync = true
      [requests, answers]
    end

    # The next line, cut where it is too long; nil at the end of input.
    def read_line(requests)
      line = rest = requests.gets("\n", MAX_LINE_BYTES + 2)
      rest = requests.gets("\n", MAX_LINE_BYTES) until rest.nil? || rest.end_with?("\n")
      line if rest
    end

    def respond(line)
      id = nil
      request = parse(line)
      id = request["id"]
      JSON.generate(jsonrpc: "2.0", id: id, result: answer(request))
    rescue Refusal => e
      error(id, e.code, e.message)
    rescue StandardError, ScriptError => e
      warn e.full_message
      error(id, ADAPTER_FAILED, "#{e.class}: #{e.message}")
    end

    def error(id, code, message)
      JSON.generate(jsonrpc: "2.0", id: id, error: { code: code, message: as_utf8(message) })
    end

    def as_utf8(text)
      text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
    end

    def parse(line)
      if line.chomp.bytesize > MAX_LINE_BYTES
        raise Refusal.new(INVALID_REQUEST, "the request line is longer than 1 MiB")
      end

      request = JSON.parse(line.force_encoding(Encoding::UTF_8))
      return request if request.is_a?(Hash) && request["method"].is_a?(String)

      raise Refusal.new(INVALID_REQUEST, "the request has no method")
    rescue JSON::ParserError, EncodingError
      raise Refusal.new(PARSE_ERROR, "the request line is not JSON")
    end

    def answer(request)
      case request["method"]
      when "initialize" then identity
      when "reset" then nil.tap { @adapter.reset }
      when "step" then result_of(@adapter.step(operation(request["params"])))
      when "shutdown" then nil.tap { @finished = true }
      else raise Refusal.new(METHOD_NOT_FOUND, "no such method: #{request['method']}")
      end
    end

    def identity
      clock = @seconds_per_tick && { secondsPerTick: @seconds_per_tick }
      {
        protocolVersion: PROTOCOL_VERSION,
        adapter: { name: @name, language: "Ruby #{RUBY_VERSION}" },
        capabilities: { clock: clock }.compact
      }
    end

    def operation(params)
      members = %w[at key value delivery]
      unless params.is_a?(Hash) && members.all? { |member| params.key?(member) }
        raise Refusal.new(INVALID_PARAMS, "an operation has #{members.join(', ')}")
      end

      Operation.new(**params.slice(*members).transform_keys(&:to_sym)).freeze
    end

    def result_of(seen)
      { status: seen.status, receipt: seen.receipt, committedWrites: seen.committed_writes }
    end
  end
end

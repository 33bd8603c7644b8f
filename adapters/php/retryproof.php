<?php

/*
 * Lets the retryproof runner drive a PHP program: speaks the adapter protocol, version 1, on
 * stdin and stdout. Whatever the program itself prints goes to stderr. Needs the command line
 * of PHP 8.1 or later and nothing else.
 */

declare(strict_types=1);

namespace Retryproof;

const PROTOCOL_VERSION = 1;
const MAX_LINE_BYTES = 1024 * 1024;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const ADAPTER_FAILED = -32000;

/** Connects a service. */
interface Adapter
{
    /** Empties the service and puts its clock to tick 0. */
    public function reset(): void;

    public function step(Operation $operation): Observation;
}

/** One request for the service: at tick `at`, send `value` under `key`. */
final class Operation
{
    public function __construct(
        public readonly int $at,
        public readonly string $key,
        public readonly string $value,
        public readonly Delivery $delivery,
    ) {
    }
}

/** Whether the service's response reaches its caller. */
enum Delivery: string
{
    case Received = 'received';
    case Lost = 'lost';
}

/**
 * What the caller saw, and the writes measured apart from it. A lost response has neither status
 * nor receipt; a receipt is the ordinal of the write that the response names.
 */
final class Observation
{
    public function __construct(
        public readonly ?int $status,
        public readonly ?int $receipt,
        public readonly int $committedWrites,
    ) {
    }
}

/**
 * Answers the runner's requests until it says `shutdown` or closes stdin. With `$secondsPerTick`,
 * for a service without a test clock, the runner waits in real time.
 */
function serve(Adapter $adapter, string $name, ?float $secondsPerTick = null): void
{
    (new Host($adapter, $name, $secondsPerTick))->serve();
}

/** Why a request gets no result; its code is JSON-RPC's. */
final class Refusal extends \Exception
{
}

/** The adapter's end of one conversation. */
final class Host
{
    /** @var list<resource> what has the numbers 0 and 1 in place of the protocol's streams */
    private static array $standIns = [];

    private bool $finished = false;

    public function __construct(
        private readonly Adapter $adapter,
        private readonly string $name,
        private readonly ?float $secondsPerTick,
    ) {
    }

    public function serve(): void
    {
        [$requests, $answers] = self::takeOverStdio();
        while (!$this->finished && ($line = self::readLine($requests)) !== null) {
            fwrite($answers, $this->respond($line) . "\n");
        }
    }

    /**
     * The protocol's own copies of stdin and stdout. What is opened next gets the lowest free
     * number: what anybody else prints, child processes included, goes to stderr, and nobody else
     * can read a request away.
     *
     * @return array{resource, resource}
     */
    private static function takeOverStdio(): array
    {
        $requests = fopen('php://stdin', 'rb');
        $answers = fopen('php://stdout', 'wb');
        fclose(\STDIN);
        self::$standIns[] = fopen('/dev/null', 'rb');
        fclose(\STDOUT);
        self::$standIns[] = fopen('php://stderr', 'wb');
        return [$requests, $answers];
    }

    /**
     * The next line, cut where it is too long; null at the end of input.
     *
     * @param resource $requests
     */
    private static function readLine($requests): ?string
    {
        $line = $rest = fgets($requests, MAX_LINE_BYTES + 3);
        while ($rest !== false && !str_ends_with($rest, "\n")) {
            $rest = fgets($requests, MAX_LINE_BYTES);
        }
        return $rest === false ? null : $line;
    }

    private function respond(string $line): string
    {
        $id = null;
        try {
            $request = self::parse($line);
            $id = $request->id ?? null;
            return self::encode(['id' => $id, 'result' => $this->answer($request)]);
        } catch (\Throwable $failure) {
            fwrite(\STDERR, $failure . "\n");
            return self::error($id, $failure);
        }
    }

    private static function error(int|float|string|null $id, \Throwable $failure): string
    {
        $error = $failure instanceof Refusal
            ? ['code' => $failure->getCode(), 'message' => $failure->getMessage()]
            : ['code' => ADAPTER_FAILED, 'message' => $failure::class . ': ' . $failure->getMessage()];
        return self::encode(['id' => $id, 'error' => $error]);
    }

    private static function encode(array $members): string
    {
        return json_encode(
            ['jsonrpc' => '2.0'] + $members,
            JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE
                | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION,
        );
    }

    private static function parse(string $line): \stdClass
    {
        if (strlen(rtrim($line, "\r\n")) > MAX_LINE_BYTES) {
            throw new Refusal('the request line is longer than 1 MiB', INVALID_REQUEST);
        }
        try {
            $request = json_decode($line, flags: JSON_THROW_ON_ERROR);
        } catch (\JsonException) {
            throw new Refusal('the request line is not JSON', PARSE_ERROR);
        }
        if (!is_string($request->method ?? null)) {
            throw new Refusal('the request has no method', INVALID_REQUEST);
        }
        return $request;
    }

    private function answer(\stdClass $request): mixed
    {
        switch ($request->method) {
            case 'initialize':
                return $this->identity();
            case 'reset':
                $this->adapter->reset();
                return null;
            case 'step':
                return $this->adapter->step(self::operation($request->params ?? null));
            case 'shutdown':
                $this->finished = true;
                return null;
        }
        throw new Refusal("no such method: $request->method", METHOD_NOT_FOUND);
    }

    private function identity(): array
    {
        $capabilities = $this->secondsPerTick === null
            ? []
            : ['clock' => ['secondsPerTick' => $this->secondsPerTick]];
        return [
            'protocolVersion' => PROTOCOL_VERSION,
            'adapter' => ['name' => $this->name, 'language' => 'PHP ' . PHP_VERSION],
            'capabilities' => (object) $capabilities,
        ];
    }

    private static function operation(mixed $params): Operation
    {
        try {
            $delivery = Delivery::from($params->delivery);
            return new Operation($params->at, $params->key, $params->value, $delivery);
        } catch (\TypeError | \ValueError $failure) {
            throw new Refusal($failure->getMessage(), INVALID_PARAMS);
        }
    }
}

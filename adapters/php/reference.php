<?php

/*
 * A correct idempotent service behind an adapter, or one with a known fault:
 *
 *     php reference.php [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
 *
 * To connect your own service, see README.md.
 */

declare(strict_types=1);

use Retryproof\Adapter;
use Retryproof\Delivery;
use Retryproof\Observation;
use Retryproof\Operation;

require __DIR__ . '/retryproof.php';

const FAULTS = ['duplicate-write', 'body-blind', 'sliding-expiry', 'forget-on-loss'];
const RETENTION_TICKS = 6;

/** Takes orders under idempotency keys, with a clock that the test sets. */
final class Service
{
    public int $now = 0;
    public int $orders = 0;

    /** @var array<string, array{item: string, order: int, deadline: int}> */
    private array $records = [];

    public function __construct(private readonly ?string $fault)
    {
    }

    /**
     * The answer to one request: a status and, unless refused, the order's number.
     *
     * @return array{int, ?int}
     */
    public function order(string $key, string $item): array
    {
        $record = $this->records[$key] ?? null;
        if ($record === null || $this->now >= $record['deadline']) {
            return [201, $this->remember($key, $item, $this->now + RETENTION_TICKS)];
        }
        if ($item !== $record['item'] && $this->fault !== 'body-blind') {
            return [409, null];
        }
        if ($this->fault === 'duplicate-write') {
            return [201, $this->remember($key, $item, $record['deadline'])];
        }
        if ($this->fault === 'sliding-expiry') {
            $this->records[$key]['deadline'] = $this->now + RETENTION_TICKS;
        }
        return [200, $record['order']];
    }

    public function answerWasLost(string $key, int $status): void
    {
        if ($this->fault === 'forget-on-loss' && $status !== 409) {
            unset($this->records[$key]);
        }
    }

    private function remember(string $key, string $item, int $deadline): int
    {
        $this->orders++;
        $this->records[$key] = ['item' => $item, 'order' => $this->orders, 'deadline' => $deadline];
        return $this->orders;
    }
}

/** Connects the service. */
final class Reference implements Adapter
{
    private Service $service;

    public function __construct(private readonly ?string $fault)
    {
        $this->reset();
    }

    public function reset(): void
    {
        $this->service = new Service($this->fault);
    }

    public function step(Operation $operation): Observation
    {
        $this->service->now = $operation->at;
        [$status, $receipt] = $this->service->order($operation->key, $operation->value);
        if ($operation->delivery === Delivery::Lost) {
            $this->service->answerWasLost($operation->key, $status);
            $status = $receipt = null;
        }
        return new Observation($status, $receipt, $this->service->orders);
    }
}

$fault = getopt('', ['fault:'])['fault'] ?? null;
if ($fault !== null && !in_array($fault, FAULTS, true)) {
    fwrite(STDERR, '--fault takes one of ' . implode(', ', FAULTS) . "\n");
    exit(2);
}
Retryproof\serve(new Reference($fault), $fault === null ? 'reference' : "reference with $fault");

<?php

declare(strict_types=1);

require __DIR__ . '/retryproof.php';

final class MyAdapter implements Retryproof\Adapter
{
    public function reset(): void
    {
        throw new LogicException('not connected yet: empty the service here');
    }

    public function step(Retryproof\Operation $operation): Retryproof\Observation
    {
        // Set the clock to $operation->at, send $operation->value under $operation->key, count
        // the writes. Then
        // return new Retryproof\Observation(status: 201, receipt: 1, committedWrites: 1);
        throw new LogicException('not connected yet: send a request here');
    }
}

Retryproof\serve(new MyAdapter(), 'my service');

<?php

declare(strict_types=1);

use Retryproof\Adapter;
use Retryproof\Observation;
use Retryproof\Operation;

require __DIR__ . '/retryproof.php';

/** Prints to stdout in reset, and fails in step. */
final class Probe implements Adapter
{
    public function reset(): void
    {
        echo "printed by the program\n";
        passthru('echo printed by a child process');
    }

    public function step(Operation $operation): Observation
    {
        throw new RuntimeException("Größe 日本語 😀 \"quoted\" back\\slash\nnext line");
    }
}

Retryproof\serve(new Probe(), 'probe', 0.25);

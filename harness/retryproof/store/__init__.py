"""What must not be lost, in SQLite: the runs, their events, and the idempotency keys."""

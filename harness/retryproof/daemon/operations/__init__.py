"""What the daemon can be asked over HTTP, each with what it takes and what it answers."""

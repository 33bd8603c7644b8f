"""Is it the adapter that is ill? A conversation with it that tries all that a run relies on."""

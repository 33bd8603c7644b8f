"""Which case, which adapter process, when: a pure policy that decides, a shell that does."""

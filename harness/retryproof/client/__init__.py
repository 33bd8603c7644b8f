"""The daemon's clients: HTTP over its Unix socket, without doing anything twice."""

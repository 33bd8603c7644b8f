"""One adapter process from launch to reap, and the bound on each of its calls."""

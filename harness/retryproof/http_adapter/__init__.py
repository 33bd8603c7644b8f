"""An adapter for any HTTP service: a process of its own, told what to do by a SERVICE.toml."""

"""The adapter protocol, version 1: bytes in, events out. No I/O happens in this package.

`protocol/spec/PROTOCOL.md` is the same protocol written for authors of adapters.
"""

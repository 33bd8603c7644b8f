"""How long an adapter may take, and how much it may use."""

from msgspec import Struct


class Limits(Struct, frozen=True):
    """The bounds of one adapter process and everything that it starts.

    Over a time limit, and over each other one but the last, the whole tree is killed.

    Attributes:
        startup_seconds: from launch to the answer to `initialize`.
        call_seconds: from writing a request until its whole answer, for each later call.
        memory_bytes: resident in all processes together; pages that they share count in each.
            An address-space limit is no use: Node and Java reserve gigabytes that they never
            touch.
        processes: how many there are at a time.
        output_bytes: stdout and stderr together, in the life of the process.
        open_files: each process's own; the system refuses to open more.
    """

    startup_seconds: float = 30.0
    call_seconds: float = 2.0
    memory_bytes: int = 2 * 1024**3
    processes: int = 256
    output_bytes: int = 256 * 1024**2
    open_files: int = 1024

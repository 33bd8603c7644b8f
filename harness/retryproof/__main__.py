"""The commands `retryproof` (also as `python -m retryproof`) and `retryfuse`."""

import sys

from .errors import EXIT_INTERRUPTED


def main() -> None:
    """Runs the command line and exits; also if it is interrupted while it is still being read."""
    try:
        from .cli.main import run_command_line
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    run_command_line()


def fuse_main() -> None:
    """Runs `retryfuse` and exits; interrupted or not, never with 2 for another reason than its."""
    try:
        from .cli.fuse import fuse
        from .cli.main import run_command_line
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    run_command_line(command=fuse)


if __name__ == "__main__":
    main()

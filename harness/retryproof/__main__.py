"""The command, as `retryproof` and as `python -m retryproof`."""

import sys

from .errors import EXIT_INTERRUPTED


def main() -> None:
    """Runs the command line and exits; also if it is interrupted while it is still being read."""
    try:
        from .cli.main import run_command_line
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    run_command_line()


if __name__ == "__main__":
    main()

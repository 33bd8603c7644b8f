"""The command `retryproof`, and how each way of ending becomes an exit status."""

import sys
from collections.abc import Sequence

import click

from .. import __version__
from ..errors import EXIT_FAILED, EXIT_INTERRUPTED, RetryproofError
from .cancel import cancel
from .check import check
from .compare import compare
from .doctor import doctor
from .example import example
from .fixtures import fixtures
from .fuse import NOT_EVALUATED, fuse
from .init import init
from .logs import logs
from .output import OutputError, abandon_stdout, complain, make_robust, report_bug, telling
from .reduce import reduce
from .run import run
from .runs import runs
from .self_test import self_test
from .serve import serve
from .show import show
from .status import status
from .submit import submit


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="retryproof")
def cli() -> None:
    """Does a service with idempotency keys keep its promises?

    retryproof drives any implementation, in any language, through a small exact contract, in a
    process of its own that is killed when a call takes longer than two seconds, and says what
    broke, on which step, and which known fault it resembles.

    \b
    Exit status: 0 a complete pass, 1 a failed or incomplete check, 2 invalid arguments or an
    unreadable file, 70 a bug in retryproof, 130 and 143 after Ctrl-C and SIGTERM. The command
    fuse has statuses of its own.
    """


COMMANDS = (
    self_test,
    fixtures,
    init,
    run,
    doctor,
    check,
    reduce,
    compare,
    example,
    fuse,
    serve,
    submit,
    runs,
    show,
    logs,
    cancel,
    status,
)

for command in COMMANDS:
    cli.add_command(command)


def run_command_line(arguments: Sequence[str] | None = None, command: click.Command = cli) -> None:
    """Runs the command line and exits."""
    try:
        make_robust()
        with telling():
            status = command.main(
                args=arguments, prog_name=_PROGRAM_NAMES[command], standalone_mode=False
            )
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except RetryproofError as error:
        complain(error.message, error.advice)
        status = error.exit_status if command is cli else NOT_EVALUATED
        if isinstance(error, OutputError):
            abandon_stdout()
    except (KeyboardInterrupt, click.Abort):
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        status = EXIT_FAILED
        abandon_stdout()
    except Exception:  # noqa: BLE001 - whatever gets here is a bug, and must not be a traceback
        status = report_bug()
    sys.exit(status)


_PROGRAM_NAMES: dict[click.Command, str] = {cli: "retryproof", fuse: "retryfuse"}

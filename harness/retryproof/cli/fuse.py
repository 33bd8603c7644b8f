"""`retryproof fuse`, which is `retryfuse`."""

import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import click

from ..errors import RetryproofError
from ..fuse import (
    EXIT_STATUS_OF,
    MAX_INPUT_BYTES,
    AnyStatus,
    Request,
    Unverified,
    encode,
    evaluate,
    evaluate_json,
    exit_status_of,
    read_request,
    worst_status,
)
from ..reports.fuse_text import render_answer
from .inputs import open_named, read_named
from .jsonl import batches_of_lines
from .output import complain, print_bytes, print_human, report_bug, telling

NOT_EVALUATED = EXIT_STATUS_OF["unverified"]


class FuseUsageError(click.UsageError):
    """The command can't be run as it was written."""

    exit_code = NOT_EVALUATED


class FuseCommand(click.Command):
    """A command whose status 2 means a detected unsafe condition, and nothing else ever."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """As in click, but a usage error ends with status 1."""
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise FuseUsageError(error.format_message(), error.ctx) from None

    def invoke(self, context: click.Context) -> int:
        """As in click, but no error gets out, of whatever kind."""
        try:
            return int(super().invoke(context))
        except RetryproofError as error:
            complain(error.message, error.advice)
        except (OSError, click.ClickException):
            raise
        except Exception:  # noqa: BLE001 - the status of a bug must not depend on its kind
            report_bug()
        return NOT_EVALUATED


@click.command(
    cls=FuseCommand, context_settings={"help_option_names": ["-h", "--help"]}, name="fuse"
)
@click.argument("file")
@click.option("--human", is_flag=True, help="Explain the decision to a person.")
@click.option("--jsonl", is_flag=True, help="One input a line, one report a line.")
def fuse(file: str, human: bool, jsonl: bool) -> int:
    """Is it safe to send that request again?

    Decides from recorded attempts and the idempotency record, without looking anywhere. FILE
    holds one JSON object; - reads standard input. With --jsonl each line is an input of its own,
    and the worst status is the exit status.

    \b
    Exit status: 0 pass: safe to proceed; 2 fail: an unsafe condition was detected; 3 unknown:
    look first; 1 the input, or the command, could not be evaluated.

    \b
    Examples:
      retryfuse attempts.json --human
      retryfuse --jsonl - < attempts.jsonl
    """
    if human and jsonl:
        complain("--human and --jsonl do not go together.")
        return NOT_EVALUATED
    if jsonl:
        with open_named(file) as stream:
            return EXIT_STATUS_OF[worst_status(_answer_lines(stream))]
    # One byte over the limit is enough for the answer to say that it is over.
    data = read_named(file, limit_bytes=MAX_INPUT_BYTES + 1, or_less=True)
    if human:
        return _explain(read_request(data))
    answer = evaluate_json(data)
    print_bytes(encode(answer) + b"\n")
    return exit_status_of(answer)


def _explain(request: Request | Unverified) -> int:
    if isinstance(request, Unverified):
        print_human(render_answer(request))
        return exit_status_of(request)
    report = evaluate(request)
    print_human(render_answer(report, request))
    return exit_status_of(report)


def _answer_lines(stream: BinaryIO) -> Iterator[AnyStatus]:
    with telling():
        for lines in batches_of_lines(stream, MAX_INPUT_BYTES):
            answers = [evaluate_json(line) for line in lines]
            sys.stdout.buffer.write(b"".join(encode(answer) + b"\n" for answer in answers))
            sys.stdout.buffer.flush()
            yield from {answer.status for answer in answers}

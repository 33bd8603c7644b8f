"""What each behaviour of the faulty adapter must come to. The one table that all zoo tests run.

The behaviour acts in the second step of the first case, unless its arguments say otherwise; a
process that is started after that behaves.
"""

from dataclasses import dataclass, field

from retryproof.supervise.limits import Limits

CALL_SECONDS = 0.5
STARTUP_SECONDS = 5.0
CASES = ("matching-replay", "body-conflict", "lost-create", "fixed-expiry")
MIB = 1024 * 1024


@dataclass(frozen=True)
class Row:
    """`kind` None: the behaviour is tolerated, and all cases pass."""

    name: str
    arguments: tuple[str, ...]
    kind: str | None = None
    message: str = ""
    advice: str = ""
    warning: str = ""
    strays: int = 0
    broken_case: int = 0
    verdicts: tuple[str, ...] | None = None
    limits: dict[str, float] = field(default_factory=dict)

    def time_and_other_limits(self) -> Limits:
        """The zoo's short times, and what the row sets itself."""
        chosen = {"call_seconds": CALL_SECONDS, "startup_seconds": STARTUP_SECONDS, **self.limits}
        return Limits(**chosen)  # type: ignore[arg-type]

    def expected_verdicts(self) -> tuple[str, ...]:
        """The verdict of each case, in order."""
        if self.verdicts is not None:
            return self.verdicts
        if self.kind is None:
            return ("pass",) * len(CASES)
        before = ("pass",) * self.broken_case
        return (*before, "incomplete", *("pass",) * (len(CASES) - self.broken_case - 1))


NOT_STARTED = ("incomplete", "not-run", "not-run", "not-run")
SILENT = "No answer to `step` within 0.5 s: the adapter was killed"
UNSTARTED = "The adapter started, but did not answer `initialize` within 0.5 s: it was killed"


def _in_step_2(name: str, what: str, kind: str, message: str, **more: object) -> Row:
    return Row(name, (f"step2={what}",), kind, message, **more)  # type: ignore[arg-type]


def _at_start(name: str, argument: str, kind: str, message: str, **more: object) -> Row:
    return Row(
        name,
        (argument,),
        kind,
        message,
        verdicts=NOT_STARTED,
        limits={"startup_seconds": 0.5} if kind == "launch" else {},
        **more,  # type: ignore[arg-type]
    )


SILENCES = (
    _in_step_2("hangs", "hang", "timeout", SILENT, advice="an endless loop, a lock"),
    _in_step_2("spins", "spin", "timeout", SILENT),
    _in_step_2("ignores-signals", "hang-deaf", "timeout", SILENT),
    _in_step_2("stops-itself", "stop-itself", "timeout", SILENT),
    _in_step_2("answers-late", "answer-late:0.8", "timeout", SILENT),
    _in_step_2(
        "half-a-line-then-silence",
        "answer-half-and-hang",
        "timeout",
        SILENT + '. Whether this call took effect is unknown. It had written "{"jsonrpc',
    ),
    _in_step_2(
        "no-newline",
        "answer-without-newline-and-hang",
        "timeout",
        SILENT,
        advice="The answer was there, without the end of its line",
    ),
    _in_step_2("drips", "drip:0.05", "timeout", SILENT),
    _in_step_2("stops-flushing", "never-flush", "timeout", SILENT, advice="flushed"),
    _in_step_2(
        "floods-stderr",
        "flood-stderr",
        "timeout",
        SILENT,
        limits={"output_bytes": 1024 * 1024 * MIB},
    ),
    Row("hangs-in-reset", ("reset1=hang",), "timeout", "No answer to `reset` within 0.5 s"),
)
PROCESSES = (
    _in_step_2(
        "forks-50",
        "hang-with-children:50",
        "timeout",
        f"{SILENT}, and with it 50 more processes (/bin/sleep 1000 x50)",
        strays=50,
    ),
    _in_step_2("new-sessions", "hang-with-children-in-sessions:5", "timeout", SILENT, strays=5),
    _in_step_2(
        "daemon-that-holds-stdout",
        "hang-with-a-daemon",
        "timeout",
        f"{SILENT}, and with it 1 more process",
        strays=1,
    ),
    _in_step_2(
        "daemon-without-environment",
        "hang-with-a-daemon-without-environment",
        "timeout",
        SILENT,
        strays=1,
    ),
    _in_step_2(
        "daemon-and-exit",
        "leave-a-daemon-and-exit",
        "crash",
        "The adapter exited with status 0 while `step` was pending. 1 stray process had to be",
        strays=1,
    ),
    _in_step_2(
        "dead-with-a-child-that-holds-the-pipe",
        "leave-a-child-and-exit",
        "crash",
        "The adapter exited with status 0",
        strays=1,
    ),
    _in_step_2("keeps-forking", "keep-forking", "timeout", f"{SILENT}, and with it ", strays=-1),
    _in_step_2(
        "keeps-forking-sessions",
        "keep-forking-sessions",
        "timeout",
        f"{SILENT}, and with it ",
        strays=-1,
    ),
    _in_step_2("hops", "hop", "timeout", f"{SILENT}", strays=-1),
    _in_step_2(
        "kills-its-guard",
        "kill-parent",
        "crash",
        "The guard process that contains the adapter was killed or stopped",
        advice="must not signal its parent",
    ),
    Row(
        "leaves-a-child-behind",
        ("step2=leave-a-child",),
        warning="left processes behind. 1 stray process had to be killed (/bin/sleep 1000)",
        strays=1,
    ),
)
ENDS = (
    _in_step_2(
        "exits-0",
        "exit-with:0",
        "crash",
        "The adapter exited with status 0 while `step` was pending.",
        advice="goes on answering until it is told `shutdown`",
    ),
    _in_step_2("exits-3", "exit-with:3", "crash", "The adapter exited with status 3 while `step`"),
    _in_step_2("segfaults", "segfault", "crash", "The adapter was ended by SIGSEGV while `step`"),
    _in_step_2("aborts", "abort", "crash", "The adapter was ended by SIGABRT while `step`"),
    _in_step_2(
        "half-a-line-then-exit",
        "answer-half-and-exit:3",
        "malformed",
        "Stdout ended in the middle of a line: ",
    ),
    _in_step_2(
        "closes-stdout",
        "close-stdout",
        "malformed",
        "The adapter closed its stdout while `step` was pending, and went on running",
    ),
    Row(
        "closes-stdin",
        ("step1=close-stdin",),
        "malformed",
        "The adapter closed its stdin while `step` was pending, and went on running",
    ),
    Row("closes-stderr", ("step1=close-stderr",)),
    Row(
        "does-not-leave",
        ("end=hang",),
        warning="The adapter did not leave within 1 s of `shutdown`",
    ),
    Row(
        "leaves-with-a-status",
        ("end=exit-with:5",),
        warning="After `shutdown` the adapter exited with status 5.",
    ),
    Row(
        "crashes-at-shutdown",
        ("shutdown1=segfault",),
        warning="After `shutdown` the adapter was ended by SIGSEGV.",
    ),
)
LINES = (
    _in_step_2(
        "banner",
        "banner",
        "malformed",
        'The line "Service ready on port 8080" is not JSON',
        advice="Something printed to stdout",
    ),
    _in_step_2(
        "prompt",
        "banner-without-newline",
        "malformed",
        'The line "ready> {"jsonrpc"',
        advice="Something printed to stdout",
    ),
    _in_step_2(
        "blank-line", "blank-line", "malformed", 'The line "" is not JSON', advice="It is blank"
    ),
    _in_step_2(
        "two-objects-on-a-line",
        "glue",
        "malformed",
        "The line ",
        advice="Two answers stand on one line",
    ),
    _in_step_2(
        "pretty-printed",
        "split-over-lines",
        "malformed",
        'The line "{" is not JSON',
        advice="spread over several lines",
    ),
    _in_step_2(
        "python-repr", "python-repr", "malformed", "The line \"{'jsonrpc'", advice="json.dumps"
    ),
    _in_step_2("too-long", "too-long-line", "malformed", "A line on stdout is longer than 1 MiB"),
    _in_step_2(
        "endless-line", "flood-stdout", "malformed", "A line on stdout is longer than 1 MiB"
    ),
    _in_step_2(
        "byte-order-mark", "byte-order-mark", "malformed", "The line ", advice="byte-order mark"
    ),
    _in_step_2("utf-16", "utf16", "malformed", "The line ", advice="UTF-8"),
    _in_step_2(
        "not-utf-8", "not-utf8", "malformed", "The line ", advice="Encode each answer as UTF-8"
    ),
    _in_step_2("nul", "nul", "malformed", 'The line "\\x00{'),
    Row("longest-line", ("step2=longest-line",)),
    Row("crlf", ("step2=carriage-return",)),
    Row("spaces", ("step2=spaces",)),
    Row("100-mib-of-stderr", ("step2=stderr:100",), limits={"call_seconds": 5.0}),
)
ANSWERS = (
    Row(
        "replies-twice",
        ("step1=answer-twice",),
        "malformed",
        "The line ",
        "answer each request once",
    ),
    _in_step_2("wrong-id", "wrong-id:7", "malformed", "The line ", advice="Echo the id"),
    _in_step_2(
        "earlier-id",
        "wrong-id:-1",
        "malformed",
        "The line ",
        advice="was answered or given up before",
    ),
    _in_step_2(
        "id-as-a-string", "id-as-string", "malformed", "The line ", advice="a number, not a string"
    ),
    _in_step_2("no-id", "no-id", "malformed", "The line "),
    _in_step_2(
        "error-without-id",
        "error-without-id",
        "malformed",
        "The line ",
        advice="could not read the request",
    ),
    _in_step_2("no-jsonrpc", "no-version", "malformed", "The line "),
    _in_step_2("neither-result-nor-error", "no-result", "malformed", "The line "),
    _in_step_2("result-and-error", "result-and-error", "malformed", "The line "),
    _in_step_2("error-out-of-form", "error-out-of-form", "malformed", "The line "),
    _in_step_2("array", "raw:[]", "malformed", 'The line "[]" is an array, not an object.'),
    _in_step_2(
        "nan",
        'raw:{"jsonrpc": "2.0", "id": 4, "result": NaN}',
        "malformed",
        "The line ",
        advice="no NaN",
    ),
    _in_step_2("repeated-member", "repeated-member", "malformed", "The line "),
    _in_step_2("deep-nesting", "deep:100000", "malformed", "The line ", advice=""),
    _in_step_2(
        "extra-member",
        'result:{"status":200,"receipt":1,"committedWrites":1,"x":1}',
        "malformed",
        "The result of `step` in ",
    ),
    _in_step_2(
        "missing-member",
        'result:{"status":200,"receipt":1}',
        "malformed",
        "The result of `step` in ",
    ),
    _in_step_2(
        "boolean",
        'result:{"status":200,"receipt":true,"committedWrites":1}',
        "malformed",
        "The result of `step` in ",
    ),
    _in_step_2(
        "number-as-a-string",
        'result:{"status":"200","receipt":1,"committedWrites":1}',
        "malformed",
        "The result of `step` in ",
    ),
    _in_step_2("null-result", "result:null", "malformed", "The result of `step` in "),
    _in_step_2(
        "error",
        "error:no \\x1b[31mdatabase\\x07",
        "adapter-error",
        "The adapter answered `step` with the error -32000: no \\x1b[31mdatabase\\x07.",
    ),
    Row(
        "error-in-reset",
        ("reset2=error:locked",),
        "adapter-error",
        "The adapter answered `reset` with the error -32000: locked.",
        broken_case=1,
    ),
    Row("id-as-a-float", ("step2=id-as-float",)),
    Row("integral-floats", ('step2=result:{"status":200.0,"receipt":1e0,"committedWrites":1}',)),
    Row(
        "huge-integers",
        ('step2=result:{"status":200,"receipt":' + "9" * 400 + ',"committedWrites":1}',),
        verdicts=("fail", "pass", "pass", "pass"),
    ),
    Row("state-survives-reset", ("step2=keep-state",), verdicts=("pass", "fail", "pass", "fail")),
)
STARTS = (
    _at_start("never-reads", "start=hang", "launch", UNSTARTED),
    _at_start("never-initializes", "initialize1=hang", "launch", UNSTARTED),
    _at_start(
        "never-flushes",
        "initialize1=never-flush",
        "launch",
        "The adapter answered `initialize` only when its stdin was closed",
        advice="flush",
    ),
    _at_start(
        "banner-at-start",
        "start=banner",
        "malformed",
        'The line "Service ready on port 8080" is not JSON',
        advice="Something printed to stdout",
    ),
    _at_start(
        "exits-at-start",
        "start=exit-with:2",
        "crash",
        "The adapter exited with status 2 while `initialize` was pending.",
    ),
    _at_start(
        "other-version",
        'initialize1=result:{"protocolVersion":2,"adapter":{"name":"x"}}',
        "version",
        "The adapter speaks protocol version 2; this runner speaks 1.",
    ),
    _at_start(
        "initialize-out-of-form",
        'initialize1=result:{"protocolVersion":1}',
        "malformed",
        "The result of `initialize` in ",
    ),
    Row("slow-start", ("initialize1=answer-late:1.0",)),
)
LIMITS = (
    _in_step_2(
        "eats-memory",
        "eat-memory",
        "limit",
        "The adapter held ",
        advice="--max-memory",
        limits={"memory_bytes": 200 * MIB, "call_seconds": 10.0},
    ),
    _in_step_2(
        "fork-bomb",
        "fork-bomb",
        "limit",
        "The adapter had ",
        advice="--max-processes",
        strays=-1,
        limits={"processes": 40, "call_seconds": 10.0},
    ),
    _in_step_2(
        "too-much-output",
        "stderr:100",
        "limit",
        "The adapter had written ",
        advice="--max-output",
        limits={"output_bytes": 20 * MIB, "call_seconds": 10.0},
    ),
    _in_step_2(
        "opens-files",
        "open-files",
        "crash",
        "The adapter exited with status 1 while `step` was pending.",
        advice="--max-open-files",
        limits={"open_files": 32},
    ),
)
ROWS = (*SILENCES, *PROCESSES, *ENDS, *LINES, *ANSWERS, *STARTS, *LIMITS)

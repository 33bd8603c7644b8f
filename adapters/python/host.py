"""Runs a Python adapter module behind the retryproof protocol, version 1.

    python3 host.py ADAPTER.py [ARG...]     or, from a program of your own:

    import host
    host.serve(reset, step, name="my service")

The module has `reset(*, signal)` and `step(operation, *, signal)`, with or without `signal`,
async or not; for the contract retryfuse `evaluate(input, *, signal)` in their place or beside
them. Whatever they print goes to stderr: stdout belongs to the protocol. Needs nothing but
Python 3.8 or later.
"""

import asyncio
import decimal
import importlib.util
import inspect
import json
import os
import platform
import sys
import time
import traceback

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 1024 * 1024
ADAPTER_FAILED = -32000
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
# An adapter that watches its signal should give up before the runner kills it.
ABORT_MARGIN_SECONDS = 0.05


class RefusedError(Exception):
    """The line is no request that can be served."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class AbortedError(Exception):
    """The call's time is nearly up."""


class Signal:
    """Tells a running call when to give up. Nothing interrupts it: look at it, or pass on
    `remaining_seconds` as a timeout."""

    def __init__(self, limit_seconds):
        self._deadline = time.perf_counter() + limit_seconds

    @property
    def remaining_seconds(self):
        return max(0.0, self._deadline - time.perf_counter())

    @property
    def aborted(self):
        return self.remaining_seconds == 0.0

    def throw_if_aborted(self):
        if self.aborted:
            raise AbortedError("the call's time is nearly up")


class Adapter:
    """The functions of an adapter, called with a signal if they take one."""

    def __init__(self, functions, name, capabilities):
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._functions = {
            method: _taking_a_signal(function) for method, function in functions.items() if function
        }
        self._limit_seconds = 2.0
        self._name = name
        self._capabilities = capabilities

    def answer(self, method, params):
        if method == "initialize":
            self._limit_seconds = params["callTimeoutMs"] / 1000 - ABORT_MARGIN_SECONDS
            return {
                "protocolVersion": PROTOCOL_VERSION,
                "adapter": {
                    "name": self._name,
                    "language": "Python " + platform.python_version(),
                },
                "capabilities": self._capabilities,
            }
        if method == "shutdown":
            return None
        if method not in self._functions:
            raise RefusedError(METHOD_NOT_FOUND, "no such method: " + method)
        signal = Signal(self._limit_seconds)
        if method == "reset":
            self._finish(self._functions[method](signal=signal))
            return None
        return self._finish(self._functions[method](params, signal=signal))

    def _finish(self, outcome):
        if inspect.isawaitable(outcome):
            return self._loop.run_until_complete(_as_coroutine(outcome))
        return outcome


def serve(reset=None, step=None, name="", capabilities=None, evaluate=None):
    """Answers requests until `shutdown` or the end of stdin."""
    functions = {"reset": reset, "step": step, "evaluate": evaluate}
    requests, answers = _take_over_stdio()
    _serve_adapter(Adapter(functions, name, capabilities or {}), requests, answers)


def _serve_adapter(adapter, requests, answers):
    method = None
    while method != "shutdown":
        line = _read_line(requests)
        if line is None:
            return
        method, response = _respond(adapter, line)
        answers.write(json.dumps(response).encode() + b"\n")
        answers.flush()


def _read_line(requests):
    """The next line, cut where it is too long; None at the end of input, even in mid-line."""
    line = rest = requests.readline(MAX_LINE_BYTES + 2)
    while rest and not rest.endswith(b"\n"):
        rest = requests.readline(MAX_LINE_BYTES)
    return line if rest else None


def _respond(adapter, line):
    method = identifier = None
    try:
        request = _parse(line)
        method, identifier = request["method"], request.get("id")
        result = adapter.answer(method, request.get("params", {}))
        # What can't be written as JSON is the adapter's failure, to be answered as one.
        json.dumps(result, allow_nan=False)
        return method, {"jsonrpc": "2.0", "id": identifier, "result": result}
    except RefusedError as refusal:
        error = {"code": refusal.code, "message": str(refusal)}
    except Exception as failure:
        traceback.print_exc()
        error = {"code": ADAPTER_FAILED, "message": f"{type(failure).__name__}: {failure}"}
    return method, {"jsonrpc": "2.0", "id": identifier, "error": error}


def _parse(line):
    if len(line.rstrip(b"\r\n")) > MAX_LINE_BYTES:
        raise RefusedError(INVALID_REQUEST, "the request line is longer than 1 MiB")
    try:
        # Fractions with all their digits, so that `evaluate` sees what was written.
        request = json.loads(line, parse_float=decimal.Decimal)
    except ValueError:
        raise RefusedError(PARSE_ERROR, "the request line is not JSON") from None
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        raise RefusedError(INVALID_REQUEST, "the request has no method")
    return request


def _take_over_stdio():
    """The protocol's own copies of stdin and stdout. What anybody else prints, child processes
    included, goes to stderr, and nobody else can read a request away."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    return requests, answers


def _taking_a_signal(function):
    parameters = inspect.signature(function).parameters.values()
    takes_signal = any(
        parameter.name == "signal" or parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters
    )
    if takes_signal:
        return function
    return lambda *arguments, signal: function(*arguments)


async def _as_coroutine(awaitable):
    return await awaitable


def _load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path[0] = os.path.dirname(path)
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    functions = {name: getattr(module, name, None) for name in ("reset", "step", "evaluate")}
    if functions["evaluate"] is None:
        for function in ("reset", "step"):
            if not callable(functions[function]):
                raise TypeError(f"{path} has no function {function}")
    return module, functions


class _Unloadable:
    """Stands in for a module that can't be loaded, and says why to whoever asks."""

    def __init__(self, error):
        self._error = error

    def answer(self, method, params):
        raise self._error


def _loaded_adapter(path):
    try:
        module, functions = _load(path)
        return Adapter(functions, module.__name__, getattr(module, "capabilities", {}))
    except Exception as error:
        return _Unloadable(error)


def main():
    path = os.path.abspath(sys.argv[1])
    sys.argv = sys.argv[1:]
    requests, answers = _take_over_stdio()
    _serve_adapter(_loaded_adapter(path), requests, answers)


if __name__ == "__main__":
    main()

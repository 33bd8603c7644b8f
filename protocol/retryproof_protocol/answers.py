"""From a line to a response, and from a response's result to a typed value.

Results are strict: a value that two readers could take differently is refused, while a
well-formed value that merely differs from the expected one is none of this module's business.
"""

from typing import Any, Literal

import msgspec

from . import malformed
from .errors import RemoteProtocolError
from .messages import (
    PROTOCOL_VERSION,
    AdapterIdentity,
    ErrorObject,
    Evaluation,
    InitializeResult,
    Message,
    Observation,
)
from .quoting import quote_start, shown_name
from .strictjson import StrictJSONError, decode

_OBSERVATION_MEMBERS = ("status", "receipt", "committedWrites")


def parse_step_response(line: bytes, pending_id: int) -> Any | ErrorObject:
    """As `parse_response`, but a result in the plainest form is an `Observation` already."""
    observation = _plain_observation(line, pending_id)
    return parse_response(line, pending_id) if observation is None else observation


def parse_response(line: bytes, pending_id: int) -> Any | ErrorObject:
    """The result in a response line, or the error object in its place.

    Raises:
        RemoteProtocolError: the line is no response to the request with `pending_id`.
    """
    response = _decode_object(line)
    if response.get("jsonrpc") != "2.0":
        raise RemoteProtocolError(
            "not-jsonrpc-2.0",
            f'The line {quote_start(line)} has no "jsonrpc": "2.0".',
            'Answer with {"jsonrpc": "2.0", "id": ..., "result": ...}. '
            + malformed.STDOUT_IS_THE_PROTOCOLS,
        )
    _check_id(response, pending_id, line)
    if ("result" in response) == ("error" in response):
        which = "both" if "result" in response else "neither"
        raise RemoteProtocolError(
            "result-or-error",
            f'The line {quote_start(line)} has {which} of "result" and "error".',
            'Answer with "result", or with "error" if the call could not be done, never both.',
        )
    if "error" in response:
        return _parse_error(response["error"], line)
    return response["result"]


def parse_observation(result: Any, line: bytes) -> Observation:
    """The result of `step`.

    Raises:
        RemoteProtocolError: it is not exactly status, receipt and committedWrites in form.
    """
    if isinstance(result, Observation):
        return result
    if not isinstance(result, dict):
        raise _wrong_result(f"is {describe_type(result)}, not an object", line)
    if missing := [name for name in _OBSERVATION_MEMBERS if name not in result]:
        raise _wrong_result(f'lacks "{missing[0]}"', line)
    if len(result) > len(_OBSERVATION_MEMBERS):
        unknown = next(name for name in result if name not in _OBSERVATION_MEMBERS)
        raise _wrong_result(f'has the member "{shown_name(unknown)}" besides', line)
    status = _integer_or_null(result, "status", line)
    receipt = _integer_or_null(result, "receipt", line)
    writes = as_integer(result["committedWrites"])
    if status is not None and not 100 <= status <= 599:
        raise _wrong_result('has a "status" outside 100..599', line)
    if receipt is not None and receipt < 1:
        raise _wrong_result('has a "receipt" below 1: receipts are ordinals 1, 2, ...', line)
    if writes is None:
        raise _wrong_member("committedWrites", result["committedWrites"], "an integer", line)
    if writes < 0:
        raise _wrong_result('has "committedWrites" below 0', line)
    return Observation(status, receipt, writes)


def parse_initialize_result(result: Any, line: bytes) -> InitializeResult:
    """The result of `initialize`. Another protocol version is the caller's to judge.

    Of a result in another version nothing else is read: it may have any form.

    Raises:
        RemoteProtocolError: it lacks a member, or has one of another form.
    """
    if isinstance(result, dict):
        version = as_integer(result.get("protocolVersion"))
        if version is not None and version != PROTOCOL_VERSION:
            return InitializeResult(version, AdapterIdentity(""))
        result = result if version is None else {**result, "protocolVersion": version}
    try:
        return msgspec.convert(result, InitializeResult)
    except msgspec.ValidationError as error:
        raise RemoteProtocolError(
            "initialize-result",
            f"The result of `initialize` in {quote_start(line)} is not in form: "
            f"{_as_clause(error)}.",
            'Answer with {"protocolVersion": 1, "adapter": {"name": "..."}, "capabilities": {}}.',
        ) from None


def parse_evaluation(result: Any, line: bytes) -> Evaluation:
    """The result of `evaluate`.

    Raises:
        RemoteProtocolError: it is not exactly a known decision and a known status.
    """
    try:
        return msgspec.convert(result, Evaluation)
    except msgspec.ValidationError as error:
        raise RemoteProtocolError(
            "evaluate-result",
            f"The result of `evaluate` in {quote_start(line)} is not in form: {_as_clause(error)}.",
            'Return exactly {"decision": "replay_safe", "status": "pass"}, with a decision and a '
            "status of the contract; refuse a malformed input with an error in place of a result.",
        ) from None


def as_integer(value: Any) -> int | None:
    """The integer that a JSON number stands for (`1.0` is 1), or None if it stands for none."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def describe_type(value: Any) -> str:
    """What kind of JSON value this is, with its article."""
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")


class _PlainAnswer(Message, frozen=True):
    jsonrpc: Literal["2.0"]
    id: int
    result: Observation


_decode_plain_answer = msgspec.json.Decoder(_PlainAnswer).decode
_PLAIN_ANSWER_MEMBERS = 6


def _plain_observation(line: bytes, pending_id: int) -> Observation | None:
    """The short way for the answer that nearly every adapter gives to `step`.

    It must agree with the long way. Its types let through no string but "2.0", so that six
    colons are six members: all that are required, and none twice.
    """
    if line.count(b":") != _PLAIN_ANSWER_MEMBERS:
        return None
    try:
        answer = _decode_plain_answer(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return answer.result if answer.id == pending_id else None


def _decode_object(line: bytes) -> dict[str, Any]:
    try:
        value = decode(line)
    except StrictJSONError as error:
        raise _refusal(error, line) from None
    if not isinstance(value, dict):
        raise RemoteProtocolError(
            "not-an-object",
            f"The line {quote_start(line)} is {describe_type(value)}, not an object.",
            malformed.STDOUT_IS_THE_PROTOCOLS,
        )
    return value


def _refusal(error: StrictJSONError, line: bytes) -> RemoteProtocolError:
    if error.rule == "repeated-member":
        return malformed.repeated_member(line, error.path)
    if error.rule == "not-utf8":
        return malformed.not_utf8(line, error.problem)
    return malformed.not_json(line, error.problem)


def _check_id(response: dict[str, Any], pending_id: int, line: bytes) -> None:
    answered = response.get("id")
    if as_integer(answered) == pending_id:
        return
    problem = f'has another "id" than the pending request\'s {pending_id}'
    advice = "Echo the id of the request that you answer."
    if "id" not in response:
        problem = f'has no "id"; the pending request\'s is {pending_id}'
    elif answered == str(pending_id):
        problem = f'has the string "{pending_id}" as its "id", where the number {pending_id} is'
        advice = "Echo the id as it came: a number, not a string."
    elif answered is None:
        advice = "An id of null says that the adapter could not read the request: see its stderr."
    elif (number := as_integer(answered)) is not None and 0 < number < pending_id:
        advice = (
            f"Request {number} was answered or given up before: answer each request once, "
            "with one line."
        )
    raise RemoteProtocolError("wrong-id", f"The line {quote_start(line)} {problem}.", advice)


def _parse_error(error: Any, line: bytes) -> ErrorObject:
    if isinstance(error, dict) and (code := as_integer(error.get("code"))) is not None:
        error = {**error, "code": code}
    try:
        return msgspec.convert(error, ErrorObject)
    except msgspec.ValidationError as problem:
        raise RemoteProtocolError(
            "error-object",
            f'The line {quote_start(line)} has an "error" that is not in form: '
            f"{_as_clause(problem)}.",
            'Give an error as {"code": -32000, "message": "..."}.',
        ) from None


def _integer_or_null(result: dict[str, Any], name: str, line: bytes) -> int | None:
    value = result[name]
    if value is None:
        return None
    integer = as_integer(value)
    if integer is None:
        raise _wrong_member(name, value, "an integer or null", line)
    return integer


def _wrong_member(name: str, value: Any, wanted: str, line: bytes) -> RemoteProtocolError:
    kind = "a fraction" if type(value) is float else describe_type(value)
    return _wrong_result(f'has {kind} as "{name}", which must be {wanted}', line)


def _wrong_result(problem: str, line: bytes) -> RemoteProtocolError:
    return RemoteProtocolError(
        "step-result",
        f"The result of `step` in {quote_start(line)} {problem}.",
        'Return exactly {"status": 201, "receipt": 1, "committedWrites": 1}: status an integer '
        "100..599 or null, receipt an integer from 1 or null, committedWrites an integer from 0.",
    )


def _as_clause(error: msgspec.ValidationError) -> str:
    message = str(error)
    return message[:1].lower() + message[1:]

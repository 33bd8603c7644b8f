"""Which check a broken conversation belongs to: the one trouble, and not what follows from it."""

import re
from collections.abc import Collection

from retryproof_protocol.errors import RemoteProtocolError
from retryproof_protocol.messages import Method

from ..reports.doctor import CheckId

_ANSWERING: dict[Method, CheckId] = {
    "initialize": "initialize",
    "reset": "reset",
    "step": "step",
    "shutdown": "leaves",
}
_RULES_OF_ANY_LINE = frozenset(
    {"not-json", "not-utf8", "not-an-object", "not-jsonrpc-2.0", "line-too-long"}
)
"""Broken by an answer that was written badly, and by anything that is no answer at all."""

_MEMBER_OF_AN_ANSWER = re.compile(rb"""["'](jsonrpc|result|id)["']\s*:""")
_MARGIN = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
"""Spaces, byte-order marks and the NULs of UTF-16."""


def check_of_a_crash(method: Method) -> CheckId:
    """The check that fails if the process ends while such a call is pending."""
    return "starts" if method == "initialize" else _ANSWERING[method]


def check_of_an_answer(method: Method) -> CheckId:
    """The check that fails if such a call has no answer in form."""
    return _ANSWERING[method]


def check_of_a_line(
    method: Method, problem: RemoteProtocolError, line: bytes, earlier: Collection[bytes]
) -> CheckId:
    """The check that fails by a line that was refused; `earlier` has the answers before it."""
    if problem.rule == "unasked-line":
        return "stdout"
    if problem.rule == "wrong-id":
        return "stdout" if line in earlier else "ids"
    if problem.rule == "ended-in-mid-line" and not looks_like_an_answer(line):
        return check_of_a_crash(method)
    if problem.rule in _RULES_OF_ANY_LINE and not looks_like_an_answer(line):
        return "stdout"
    return check_of_an_answer(method)


def looks_like_an_answer(line: bytes) -> bool:
    """Whether somebody meant this line, or the first of several, as an answer."""
    text = line.strip(_MARGIN).replace(b"\0", b"")
    if not text.startswith(b"{"):
        return False
    return text == b"{" or _MEMBER_OF_AN_ANSWER.search(text) is not None

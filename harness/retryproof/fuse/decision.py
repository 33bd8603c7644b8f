"""The decision: a table whose rows are tried from the top, over facts that were measured before.

Source: the table "Decision" of the retryfuse contract, version 1.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Struct

from .numerals import Number, exact, exact_sum, shown
from .report import STATUS_OF, Circuit, Decision, Reason, Report
from .request import CONTRACT_VERSION, MAX_ATTEMPTS, Attempt, Policy, PriorRecord, Request
from .table import TABLE, Facts

class _Verdict(Struct, frozen=True): ...


def evaluate(request: Request) -> Report:
    """Whether the operation may be sent again, and why.

    Raises:
        ValueError: the request was not read but built in code, and has a value that its types
            do not allow.
    """
    ...

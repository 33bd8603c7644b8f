"""A service's own receipts as ordinals in the order of commit. Pure."""

import json
from itertools import count
from typing import TypeAlias

Receipt: TypeAlias = str | int | float
"""What a service answers: the string "1" and the number 1 are two receipts."""


class Receipts:
    """The receipts of one case, from its first write on.

    A receipt keeps its ordinal, and no two have the same one.
    """

    def __init__(self) -> None:
        self._ordinals: dict[str, int] = {}

    def ordinal(self, receipt: Receipt, writes_before: int, writes_after: int) -> int:
        """The ordinal of a receipt that an answer named, between these counts of writes.

        A new one names the write that was just committed; without such a write, the first one
        that no answer has named yet. If every write has its name already, the new one names
        none of them, and gets an ordinal that no write has.
        """
        name = json.dumps(receipt)
        if name not in self._ordinals:
            taken = set(self._ordinals.values())
            first = writes_after if writes_after > writes_before else 1
            self._ordinals[name] = next(each for each in count(first) if each not in taken)
        return self._ordinals[name]

    def known(self, receipt: Receipt) -> int | None:
        """The ordinal of a receipt that was named before in this case, or None."""
        return self._ordinals.get(json.dumps(receipt))

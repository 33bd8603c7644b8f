"""The words about a behaviour of the zoo, without what differs from run to run."""

import re

from tests.zoo.driving import FAULTY
from tests.zoo.table import Row

_VARYING_NUMBER = re.compile(
    r"(?<=held )[\d,]+|(?<=had )[\d,]+|(?<=written )[\d,]+|(?<=with it )\d+"
    r"|(?<=and )[\d,]+(?= bytes more)|(?<=line )\d+|(?<=after )[\d.]+|(?<=took )[\d.]+"
    r"|(?<=there )[\d.]+"
)
# A process that has forked and not yet become another program has its parent's command line.
_VARYING_COMMANDS = re.compile(r"\((?=\S*(?:sleep|python))[^()]*\)")
_PART_OF_A_LINE = re.compile(r"(?<=It had written ).*?(?= without the end)")


def stable(row: Row, text: str) -> str:
    """The text as every run has it."""
    if row.name == "drips":
        text = _PART_OF_A_LINE.sub("(...)", text)
    text = text.replace(FAULTY, "adapter.py")
    return _VARYING_NUMBER.sub("N", _VARYING_COMMANDS.sub("(...)", text))

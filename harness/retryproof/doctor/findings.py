"""What an examination found: pure facts, from which the verdicts are made."""

from itertools import chain
from typing import Literal, TypeAlias

from msgspec import Struct, field
from retryproof_protocol.messages import AdapterIdentity, Method, Observation, Operation

from ..reports.doctor import CheckId, TimeLimits

PROBE = (
    Operation(0, "A", "A", "received"),
    Operation(0, "A", "A", "received"),
    Operation(0, "A", "B", "received"),
    Operation(0, "B", "A", "lost"),
    Operation(0, "B", "A", "received"),
)
"""The one case of an examination: each kind of answer once, and nothing that has to be waited
for, so that a service without a test clock is examined as quickly."""

ROUNDS = 2
"""How often the first process goes through it, with a `reset` before each round."""

Rounds: TypeAlias = list[tuple[Observation, ...]]
"""The answers of whole rounds through the probe."""

Occasion: TypeAlias = Literal["shutdown", "end-of-input"]


class Trouble(Struct, frozen=True):
    """Why a conversation could not go on: the check that failed by it, and the words."""

    check: CheckId
    seen: str
    mend: str


class Answer(Struct, frozen=True):
    """A usable answer, and the seconds from its request until it was there."""

    method: Method
    seconds: float


class Leaving(Struct, frozen=True):
    """How a process ended once it should.

    Attributes:
        left: whether by itself, in time.
        left_late: whether by itself after all, once its input was closed too.
        seconds: from the occasion until it was gone, or until the patience ended.
        exit: how it ended, as a clause.
        strays: how many processes beside its first one had to be killed.
    """

    occasion: Occasion
    left: bool
    left_late: bool
    seconds: float
    status: int | None
    exit: str
    strays: int
    stray_commands: tuple[str, ...]


class Conversation(Struct):
    """One process of the adapter, from its start to its end; filled as it goes.

    Attributes:
        occasion: what the process is to leave for.
        startup_seconds: from launch to the answer to `initialize`.
        rounds: the answers of each whole round through the probe.
    """

    occasion: Occasion
    was_launched: bool = False
    identity: AdapterIdentity | None = None
    startup_seconds: float | None = None
    answers: list[Answer] = field(default_factory=list)
    rounds: Rounds = field(default_factory=list)
    trouble: Trouble | None = None
    leaving: Leaving | None = None
    stderr_tail: str = ""


class Findings(Struct, frozen=True):
    """An examination: the conversation with the first process, and those with fresh ones."""

    conversations: tuple[Conversation, ...]
    limits: TimeLimits

    @property
    def first_trouble(self) -> Trouble | None:
        """What went wrong first, if anything did."""
        troubles = (conversation.trouble for conversation in self.conversations)
        return next((trouble for trouble in troubles if trouble is not None), None)

    @property
    def rounds(self) -> tuple[Rounds, Rounds]:
        """The whole rounds of the first process, and those of the later ones."""
        whole = [conversation.rounds for conversation in self.conversations]
        return [*chain(*whole[:1])], [*chain(*whole[1:])]

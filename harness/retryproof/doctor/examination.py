"""An examination: a few processes of the adapter, one after the other, each spoken to."""

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct
from retryproof_protocol.messages import ContractReference

from ..reports.doctor import TimeLimits
from ..supervise.channel import CancelToken
from ..supervise.guard import Guard
from ..supervise.interruption import Work
from ..supervise.launch import Launch
from ..supervise.limits import Limits
from ..supervise.session import LEAVE_LIMIT_SECONDS, WireSink
from ..supervise.worker import run_in_thread
from .findings import PROBE, ROUNDS, Conversation, Findings, Occasion
from .patient import PATIENCE, HesitantError, Patient, Progress, Setting, UnwellError


class Examinee(Struct, frozen=True):
    """Which adapter is to be examined, and the limits that a run of it would have."""

    launch: Launch
    contract: ContractReference
    limits: Limits


async def examine(
    examinee: Examinee,
    until: Callable[[Work], Awaitable[str | None]],
    tell: Progress,
    on_wire: WireSink | None,
) -> tuple[Findings, str | None]:
    """What an examination found, and the name of the signal that cut it short, if one did.

    However this ends, no process of the adapter is left.
    """
    conversations: list[Conversation] = []
    cancel = CancelToken()
    guard = Guard()
    try:
        setting = Setting(
            guard, examinee.launch, examinee.contract, examinee.limits, cancel, tell, on_wire
        )
        examination = Examination(setting, conversations)
        interrupted_by = await until(partial(run_in_thread, examination.run, cancel))
    finally:
        guard.close()
        cancel.close()
    limits = TimeLimits(
        examinee.limits.startup_seconds, examinee.limits.call_seconds, LEAVE_LIMIT_SECONDS
    )
    return Findings(tuple(conversations), limits), interrupted_by


class Examination(Struct, frozen=True):
    """What is to be done with an adapter. The notes are there however it ends."""

    setting: Setting
    conversations: list[Conversation]

    def run(self) -> None:
        """Speaks to one process after the other. Blocks; each wait is bounded.

        Raises:
            CancelledError: the token was used; the adapter is gone.
        """
        first = self._speak_first()
        if first.identity is None:
            return
        went_well = len(first.rounds) == ROUNDS
        self._speak("end-of-input", 1 if went_well else 0)
        if not went_well:
            # It never came to leave.
            self._speak("shutdown", 0)

    def _speak_first(self) -> Conversation:
        """To a process whose answer does not come, unless it is sure how long to wait for it.

        Half a minute of waiting for an answer that sits in a buffer is long. So an adapter that
        is silent for as long as a call may take has its input closed: one that answers now, and
        whose next process does not in three times the time that this one took, never flushes.
        """
        limits = self.setting.limits
        look_seconds = min(limits.call_seconds, limits.startup_seconds)
        try:
            is_whole = look_seconds == limits.startup_seconds
            return self._speak("shutdown", ROUNDS, look_seconds, is_last_look=is_whole)
        except HesitantError as hesitation:
            self.conversations.clear()
            if hesitation.seconds is None:
                return self._speak("shutdown", ROUNDS)
            look_seconds = min(PATIENCE * hesitation.seconds, limits.startup_seconds)
            return self._speak("shutdown", ROUNDS, look_seconds)

    def _speak(
        self,
        occasion: Occasion,
        rounds: int,
        look_seconds: float | None = None,
        *,
        is_last_look: bool = True,
    ) -> Conversation:
        """One conversation with a process of its own, whose notes say how far it came.

        Raises:
            HesitantError: `initialize` was not answered, and this is not the last look.
        """
        notes = Conversation(occasion)
        self.conversations.append(notes)
        try:
            patient = Patient(self.setting, notes)
        except UnwellError as error:
            notes.trouble = error.trouble
            return notes
        try:
            patient.greet(look_seconds or self.setting.limits.startup_seconds, is_last_look)
            for _ in range(rounds):
                patient.go_through(PROBE)
            patient.leave()
        except UnwellError as error:
            notes.trouble = error.trouble
        finally:
            patient.kill()
        return notes

"""A case of the retry suite: a reset, then its steps, in real time if the adapter asks for that."""

import time

from msgspec import Struct

from ..contract.bundle import Case
from ..events import Call
from .conductor import Conductor
from .pacing import Pacing


class RetryScript(Struct, frozen=True):
    """Runs one case."""

    case: Case

    @property
    def name(self) -> str:
        """What the case is called."""
        return self.case.name

    def run(self, stage: Conductor) -> None:
        """Resets the adapter, and has it do each operation when it is due.

        Raises:
            CaseFailedError: a call had no usable answer.
        """
        session = stage.session
        call = Call("reset")
        stage.ask(call, session.reset)
        stage.tell(call)
        pacing = None
        for index, operation in enumerate(self.case.steps):
            call = Call("step", index)
            if pacing is not None:
                stage.wait(call, pacing.due_at(operation.at))
            stage.tell(call, stage.ask(call, session.step, operation))
            if pacing is None and stage.seconds_per_tick is not None:
                pacing = Pacing(stage.seconds_per_tick, operation.at, time.monotonic())

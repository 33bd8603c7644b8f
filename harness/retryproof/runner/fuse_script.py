"""A case of the suite retryfuse: a single call, which is answered or refused."""

from msgspec import Raw, Struct
from retryproof_protocol.messages import ErrorObject

from ..events import Call, Evaluated
from ..fuse.matrix import REFUSED, Case, answered
from .conductor import Conductor


class FuseScript(Struct, frozen=True):
    """Runs one case."""

    case: Case

    @property
    def name(self) -> str:
        """What the case is called."""
        return self.case.name

    def run(self, stage: Conductor) -> None:
        """Has the adapter evaluate the case's input, sent as it was written.

        Raises:
            CaseFailedError: there was neither an answer in form nor a refusal.
        """
        call = Call("evaluate")
        answer = stage.ask(call, stage.session.evaluate, Raw(self.case.input))
        if isinstance(answer, ErrorObject):
            stage.tell(call, evaluation=Evaluated(REFUSED, answer.message))
        else:
            stage.tell(call, evaluation=Evaluated(answered(answer)))

"""Where there is no subreaper: the process group, and psutil's sweep of what left it."""

import ctypes
import os
import sys
from collections.abc import Iterator

import psutil
import pytest
from retryproof.errors import CallTimeoutError
from retryproof.supervise.channel import CancelToken
from retryproof.supervise.guard import Command, Guard
from retryproof.supervise.limits import Limits
from retryproof.supervise.session import Session
from retryproof_protocol.messages import Operation

from tests.driving import BUNDLE
from tests.supervise.test_session import GREETING

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def session() -> Iterator[Session]:
    """A session whose call will time out while its adapter has children in two sessions."""
    source = GREETING + (
        "subprocess.Popen(['/bin/sleep', '60'])\n"
        "subprocess.Popen(['/bin/sleep', '61'], start_new_session=True)\n"
        "next(requests)\n"
        "time.sleep(60)\n"
    )
    guard = Guard("group")
    # As on a system without subreapers: orphans are not this process's.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    cancel = CancelToken()
    command = Command((sys.executable, "-I", "-S", "-c", source), {}, os.getcwd())
    session = Session(guard, command, Limits(10, 0.3), cancel)
    assert guard.containment == "group"
    yield session
    session.kill()
    guard.close()
    cancel.close()


def test_children_in_the_group_and_outside_it_are_killed_and_counted(session: Session) -> None:
    session.initialize(BUNDLE.reference)
    with pytest.raises(CallTimeoutError, match="2 more processes"):
        session.step(Operation(0, "A", "A", "received"))
    assert [process for process in psutil.process_iter() if _is_alive_sleeper(process)] == []


def _is_alive_sleeper(process: psutil.Process) -> bool:
    try:
        # A zombie has no command line any more.
        return process.cmdline()[:1] == ["/bin/sleep"] and process.cmdline()[1] in {"60", "61"}
    except psutil.Error:
        return False

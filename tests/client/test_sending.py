"""A submission makes one run, whatever becomes of the daemon and the connection to it."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from retryproof.api.submission import AdapterSubmission, RunSubmission
from retryproof.client.connection import Daemon
from retryproof.client.sending import Sender, Submission
from retryproof.client.submission_files import SubmissionFiles
from retryproof.client.submitting import MAX_ATTEMPTS, SubmissionRecord
from retryproof.errors import (
    DaemonRefusalError,
    FileError,
    InvalidArgumentsError,
    NotSubmittedError,
    SubmissionInDoubtError,
)
from retryproof.fuse.fingerprint import fingerprint_of

from tests.client.clocks import Clock
from tests.client.small_server import (
    Handler,
    Reply,
    Request,
    SmallServer,
    breaks_off,
    refuses,
    says,
)
from tests.client.views import document, page, view

pytestmark = pytest.mark.filterwarnings(
    # httpcore2 leaves the socket of a refused connection to the garbage collector.
    "ignore:unclosed <socket:ResourceWarning"
)
WANTED = RunSubmission(AdapterSubmission(module="/project/adapter.py", cwd="/project"))
TAKEN = says(201, document())
FOUND = says(200, page(view()))
NOT_FOUND = says(200, page())
FULL = refuses(429, "queue-full", "The queue is full.", Retry_After="2")
STOPPING = refuses(503, "stopping", "The daemon is stopping.", Retry_After="1")


class Case:
    """A sender to a small server, and what is left and told of what it sends."""

    def __init__(self, server: SmallServer, state: Path) -> None:
        self.server = server
        self.files = SubmissionFiles(state)
        self.folder = state / "submissions"
        self.clock = Clock()
        self.told: list[str] = []

    def send(self, submission: Submission | None = None) -> str:
        with Daemon(self.server.socket) as daemon:
            sender = Sender(
                daemon, self.files, self.told.append, self.clock.patience(), self.clock.pause
            )
            return sender.send(submission or Submission(WANTED, self.server.socket)).id

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.server.requests if request.method == "POST"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def case(request: pytest.FixtureRequest, state: Path) -> Iterator[Case]:
    with SmallServer(*request.param) as server:
        yield Case(server, state)


def replies(*given: Reply) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [given], indirect=True, ids=[""])


@replies(TAKEN)
def test_a_run_that_is_taken_leaves_nothing_behind(case: Case) -> None:
    assert case.send() == view().id
    (post,) = case.posts
    assert msgspec.json.decode(post.body, type=RunSubmission) == WANTED
    assert len(post.headers["Idempotency-Key"]) == 32
    assert os.listdir(case.folder) == []
    assert case.told == []
    assert case.clock.pauses == []


def test_before_it_is_sent_all_that_is_known_is_in_a_private_file(state: Path) -> None:
    seen: list[tuple[str, int, Any]] = []

    def look(handler: Handler) -> None:
        (file,) = (state / "submissions").iterdir()
        seen.append((file.name, stat.S_IMODE(file.stat().st_mode), json.loads(file.read_bytes())))
        (TAKEN if len(seen) == 2 else FULL)(handler)

    with SmallServer(look, look) as server:
        case = Case(server, state)
        case.send()
        assert stat.S_IMODE(case.folder.stat().st_mode) == 0o700
        keys = [post.headers["Idempotency-Key"] for post in case.posts]
    assert keys[0] == keys[1]
    for name, mode, record in seen:
        assert name == f"{keys[0]}.json"
        assert mode == 0o600
        assert record["key"] == keys[0]
        assert record["digest"] == fingerprint_of(json.loads(case.posts[0].body))
        assert record["socket"] == str(server.socket)
    assert [attempt["outcome"] for attempt in seen[0][2]["attempts"]] == ["unknown"]
    first, second = seen[1][2]["attempts"]
    assert (first["outcome"], first["phase"]) == ("failure", "pre_write")
    assert first["problem"] == "The queue is full."
    assert (second["outcome"], second["phase"]) == ("unknown", "unknown")


@replies(FULL, STOPPING, TAKEN)
def test_what_was_refused_for_now_is_sent_again_when_the_daemon_says(case: Case) -> None:
    assert case.send() == view().id
    assert case.clock.pauses == [2.0, 1.0]
    assert case.told == [
        "The queue is full. Trying again in 2 s.",
        "The daemon is stopping. Trying again in 1 s.",
    ]
    assert len({(post.headers["Idempotency-Key"], post.body) for post in case.posts}) == 1


@replies(breaks_off, FOUND)
def test_a_lost_answer_is_looked_up_and_not_sent_for_again(case: Case) -> None:
    assert case.send() == view().id
    post, look = case.server.requests
    assert look.target == f"/v1/runs?key={post.headers['Idempotency-Key']}"
    assert len(case.posts) == 1
    assert os.listdir(case.folder) == []
    (told,) = case.told
    assert told.endswith("Looking whether the run was submitted.")


@replies(breaks_off, NOT_FOUND, TAKEN)
def test_a_lost_request_is_sent_again_with_the_same_key_and_body(case: Case) -> None:
    assert case.send() == view().id
    first, second = case.posts
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.body == second.body


@replies(lambda handler: handler.answer(201, b"<html>"), FOUND)
def test_an_answer_that_makes_no_sense_is_looked_up(case: Case) -> None:
    assert case.send() == view().id


@replies(refuses(500, "internal", "This is a bug."), NOT_FOUND, TAKEN)
def test_after_a_bug_of_the_daemon_it_is_looked_up(case: Case) -> None:
    assert case.send() == view().id


@replies(breaks_off, breaks_off, STOPPING, FOUND)
def test_the_look_is_repeated_until_the_daemon_answers(case: Case) -> None:
    assert case.send() == view().id
    assert len(case.posts) == 1


@replies(*[FULL] * MAX_ATTEMPTS)
def test_after_enough_refusals_it_gives_up_and_nothing_is_left(case: Case) -> None:
    with pytest.raises(NotSubmittedError) as raised:
        case.send()
    assert raised.value.message == (
        "The queue is full. Nothing was submitted in 6 attempts: The circuit is open: the "
        "attempts in a row without success have reached the failure threshold."
    )
    assert os.listdir(case.folder) == []


@replies(*[breaks_off, NOT_FOUND] * MAX_ATTEMPTS)
def test_a_daemon_that_never_answers_a_submission_is_given_up_as_well(case: Case) -> None:
    with pytest.raises(NotSubmittedError, match="broke off before its answer was in"):
        case.send()


@replies(breaks_off)
def test_if_it_can_not_be_looked_up_it_stays_in_doubt_and_on_record(case: Case) -> None:
    case.clock.on_pause = case.server.stop
    submission = Submission(WANTED, case.server.socket)
    with pytest.raises(SubmissionInDoubtError) as raised:
        case.send(submission)
    key = submission.record.key
    assert not raised.value.definite
    assert "Whether the run was submitted is not known. No daemon answers" in raised.value.message
    assert f"`retryproof runs --key {key}` tells" in raised.value.advice
    assert str(case.folder / f"{key}.json") in raised.value.advice
    assert case.clock.now >= 60
    (unfinished,) = case.files.unfinished()
    assert unfinished.record.key == key
    assert [attempt.phase for attempt in unfinished.record.attempts] == ["unknown"]


def test_a_daemon_that_starts_in_time_gets_it(state: Path) -> None:
    with SmallServer(TAKEN) as server:
        server.stop()
        case = Case(server, state)

        def start_at_last() -> None:
            if len(case.clock.pauses) == 3:
                server.start()

        case.clock.on_pause = start_at_last
        assert case.send() == view().id
        assert case.clock.pauses == [0.1, 0.2, 0.4]


def test_without_a_daemon_it_says_how_to_start_one(state: Path) -> None:
    with SmallServer() as server:
        server.stop()
        case = Case(server, state)
        with pytest.raises(NotSubmittedError, match="No daemon answers at ") as raised:
            case.send()
        assert raised.value.advice == "Start one: retryproof serve"
        assert case.clock.pauses == [0.1, 0.2, 0.4, 0.8, 1.6]
        assert os.listdir(case.folder) == []


@replies(refuses(400, "bad-submission", "Expected `str`.", "adapter.cwd"))
def test_what_the_daemon_finds_wrong_is_an_invalid_argument(case: Case) -> None:
    with pytest.raises(InvalidArgumentsError, match=r"refuses the run: adapter.cwd: Expected"):
        case.send()
    assert os.listdir(case.folder) == []


@replies(refuses(409, "key-reused", "The key stands for another request."))
def test_another_refusal_is_final_too(case: Case) -> None:
    with pytest.raises(DaemonRefusalError, match="stands for another request"):
        case.send()
    assert os.listdir(case.folder) == []


def test_nothing_is_sent_that_can_not_be_recorded(state: Path) -> None:
    state.mkdir()
    (state / "submissions").touch()
    with SmallServer() as server:
        with pytest.raises(FileError, match="is not a folder"):
            Case(server, state).send()
        assert server.requests == []


def test_a_submission_is_checked_as_the_daemon_will() -> None:
    adapter = msgspec.structs.replace(WANTED.adapter, cwd="relative")
    with pytest.raises(InvalidArgumentsError, match=r"adapter\.cwd: Must be an absolute path"):
        Submission(msgspec.structs.replace(WANTED, adapter=adapter), Path("/s"))


def test_text_that_is_no_utf_8_is_not_sent_and_not_shown() -> None:
    adapter = msgspec.structs.replace(WANTED.adapter, environment={"TOKEN": "s3cret\udcff"})
    with pytest.raises(InvalidArgumentsError, match="no UTF-8") as raised:
        Submission(msgspec.structs.replace(WANTED, adapter=adapter), Path("/s"))
    assert "s3cret" not in raised.value.message


def test_each_submission_has_a_key_of_its_own() -> None:
    keys = {Submission(WANTED, Path("/s")).record.key for _ in range(100)}
    assert len(keys) == 100


def test_unfinished_submissions_are_listed_the_oldest_first_and_others_left_out(
    state: Path,
) -> None:
    files = SubmissionFiles(state)
    assert files.unfinished() == []
    for key, hour in (("b", "05"), ("a", "04")):
        files.write(SubmissionRecord(key, "ab", f"2030-01-02T{hour}:00:00+00:00", "/s"))
    (state / "submissions" / "c.json").write_text("{")
    (state / "submissions" / "d.json").mkdir()
    assert [unfinished.record.key for unfinished in files.unfinished()] == ["a", "b"]
    files.remove("a")
    files.remove("a")
    assert [unfinished.file for unfinished in files.unfinished()] == [str(files.path_of("b"))]

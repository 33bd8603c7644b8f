"""Whose turn it is: every client comes to its share, and every run is taken once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from retryproof.daemon.fair_queue import FairQueue

CLIENTS = st.sampled_from("abc")


def filled(lanes: dict[str, int]) -> FairQueue:
    """So many runs of each client: a1, a2, ..., b1, ..."""
    queue = FairQueue()
    for client, count in lanes.items():
        for number in range(count):
            queue.add(f"{client}{number + 1}", client)
    return queue


def taken(queue: FairQueue, count: int) -> list[str]:
    """The next runs; each is over before the next one is taken."""
    runs = []
    for _ in range(count):
        next_one = queue.take()
        assert next_one is not None
        queue.over(next_one[1])
        runs.append(next_one[0])
    return runs


def test_nothing_waits() -> None:
    queue = FairQueue()
    assert queue.take() is None
    assert len(queue) == queue.running == 0


def test_one_client_is_served_in_its_order() -> None:
    queue = filled({"a": 4})
    assert taken(queue, 4) == ["a1", "a2", "a3", "a4"]
    assert queue.take() is None


def test_clients_take_turns() -> None:
    queue = filled({"a": 4, "b": 2, "c": 1})
    assert taken(queue, 7) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_a_newcomer_waits_for_one_turn_of_each_other() -> None:
    queue = filled({"a": 50, "b": 50})
    taken(queue, 3)
    queue.add("c1", "c")
    assert "c1" in taken(queue, 3)


def test_who_has_less_running_comes_first() -> None:
    queue = filled({"a": 3})
    assert [queue.take(), queue.take()] == [("a1", "a"), ("a2", "a")]
    queue.add("b1", "b")
    queue.add("b2", "b")
    assert [queue.take(), queue.take()] == [("b1", "b"), ("b2", "b")]
    queue.over("b")
    assert queue.running == 3
    queue.add("b3", "b")
    assert queue.take() == ("b3", "b")


def test_a_removed_run_is_not_taken() -> None:
    queue = filled({"a": 3, "b": 1})
    assert queue.remove("a2", "a")
    assert queue.remove("b1", "b")
    assert not queue.remove("a2", "a")
    assert not queue.remove("a1", "b")
    assert not queue.remove("x", "x")
    assert len(queue) == 2
    assert taken(queue, 2) == ["a1", "a3"]


@given(st.dictionaries(CLIENTS, st.integers(1, 30), min_size=1), st.integers(1, 4))
def test_among_clients_that_wait_nobody_is_more_than_one_ahead(
    lanes: dict[str, int], jobs: int
) -> None:
    queue = filled(lanes)
    waiting = Counter(lanes)
    served: Counter[str] = Counter()
    running: list[str] = []
    while (next_one := queue.take()) is not None:
        client = next_one[1]
        served[client] += 1
        waiting[client] -= 1
        running.append(client)
        if len(running) == jobs:
            queue.over(running.pop(0))
        counts = [served[other] for other in lanes if waiting[other] > 0]
        assert all(served[other] >= max(counts) - 1 for other in lanes if waiting[other] > 0)
    assert served == Counter(lanes)


class AnyUse(RuleBasedStateMachine):
    """However it is used: in each lane the oldest comes first, and nobody is passed over."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = FairQueue()
        self.lanes: dict[str, list[str]] = {}
        self.running: Counter[str] = Counter()
        self.number = 0

    @rule(client=CLIENTS)
    def add(self, client: str) -> None:
        self.number += 1
        self.lanes.setdefault(client, []).append(str(self.number))
        self.queue.add(str(self.number), client)

    @rule(client=CLIENTS, index=st.integers(0, 5))
    def remove(self, client: str, index: int) -> None:
        lane = self.lanes.get(client, [])
        run = lane.pop(index) if index < len(lane) else "no such run"
        assert self.queue.remove(run, client) == (run != "no such run")

    @rule()
    def take(self) -> None:
        waiting = {client for client, lane in self.lanes.items() if lane}
        next_one = self.queue.take()
        if next_one is None:
            assert not waiting
            return
        run, client = next_one
        assert self.lanes[client].pop(0) == run
        assert self.running[client] == min(self.running[other] for other in waiting)
        self.running[client] += 1

    @precondition(lambda self: self.running.total())
    @rule(data=st.data())
    def over(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from([c for c, count in self.running.items() if count]))
        self.running[client] -= 1
        self.queue.over(client)

    @invariant()
    def counts_agree(self) -> None:
        assert len(self.queue) == sum(map(len, self.lanes.values()))
        assert self.queue.running == self.running.total()


TestAnyUse = AnyUse.TestCase

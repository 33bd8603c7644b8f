"""Who is next: clients take turns, however many runs each of them has waiting. Pure."""

from collections import Counter, OrderedDict, deque


class FairQueue:
    """The runs that wait, in a lane for each client.

    The next run is of the client that has the fewest running; of several, of the one that has
    waited longest for its turn. Within a lane the longest waiting run goes first.
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[str, deque[str]] = OrderedDict()
        self._running: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    @property
    def running(self) -> int:
        """How many runs were taken and are not over."""
        return self._running.total()

    def add(self, run: str, client: str) -> None:
        """Puts a run at the end of its client's lane."""
        self._lanes.setdefault(client, deque()).append(run)

    def remove(self, run: str, client: str) -> bool:
        """Takes a run out of the queue; False if it is not in it."""
        lane = self._lanes.get(client, deque())
        if run not in lane:
            return False
        lane.remove(run)
        self._drop_if_empty(client)
        return True

    def take(self) -> tuple[str, str] | None:
        """The next run and its client, which has one running more from now on; None if none waits.

        Call `over` with the client when that run is over.
        """
        if not self._lanes:
            return None
        client = min(self._lanes, key=lambda client: self._running[client])
        run = self._lanes[client].popleft()
        self._lanes.move_to_end(client)
        self._drop_if_empty(client)
        self._running[client] += 1
        return run, client

    def over(self, client: str) -> None:
        """A run of this client has left."""
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]

    def _drop_if_empty(self, client: str) -> None:
        if not self._lanes[client]:
            del self._lanes[client]

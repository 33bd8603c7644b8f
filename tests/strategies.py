"""Hypothesis strategies of the contract's values, and how many examples a test takes."""

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from retryproof.contract.artifacts import Artifact
from retryproof.contract.model import FAULTS
from retryproof_protocol.messages import Delivery, Letter, Observation, Operation

FAULT_NAMES = tuple(FAULTS)
LAST_TICK = 24
MAX_OPERATIONS = 12


def repeatable(examples: int) -> Callable[[Any], Any]:
    """Settings of a property test: the same examples in each run, and no limit of time."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


letters: st.SearchStrategy[Letter] = st.sampled_from(["A", "B"])
deliveries: st.SearchStrategy[Delivery] = st.sampled_from(["received", "lost"])
fault_names = st.sampled_from(FAULT_NAMES)


@st.composite
def histories(
    draw: st.DrawFn, min_size: int = 1, max_size: int = MAX_OPERATIONS
) -> tuple[Operation, ...]:
    """Operations whose ticks never go back."""
    size = draw(st.integers(min_size, max_size))
    # Small steps, so that ticks before, at and after a deadline are all common.
    ticks = sorted(draw(st.lists(st.integers(0, LAST_TICK), min_size=size, max_size=size)))
    return tuple(Operation(at, draw(letters), draw(letters), draw(deliveries)) for at in ticks)


@st.composite
def artifacts(draw: st.DrawFn, max_size: int = MAX_OPERATIONS) -> Artifact:
    """Valid artifacts, accepted or not."""
    return Artifact(draw(fault_names), draw(histories(max_size=max_size)))


observations = st.builds(
    Observation,
    status=st.none() | st.sampled_from([200, 201, 409]) | st.integers(100, 599),
    receipt=st.none() | st.integers(1, 4),
    committed_writes=st.integers(0, 4),
)

json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from([":", '":"', "\\", '{"a":1}', "\u2028", "\x7f"])
)
json_values: st.SearchStrategy[Any] = st.recursive(
    json_scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def chunkings(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes in consecutive pieces, none of them empty."""
    if not data:
        return []
    cuts = draw(st.sets(st.integers(1, max(1, len(data) - 1)), max_size=12))
    edges = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges) if a < b]

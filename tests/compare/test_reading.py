"""Ranges are read as offsets and hashes, and unread ranges are named."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.compare.reading import HashedReader, unread
from kafka_lagoon.records.digests import ALL_FIELDS
from tests.clock import CLOCK
from tests.fake.batches import batch, marker
from tests.fake.cluster import FakeCluster
from tests.fetch.reading import QUICK, log, small, split


@pytest.fixture
def state() -> FakeCluster:
    """A topic of one partition, without records."""
    state = FakeCluster()
    state.add_topic("t", 1, end=0)
    return state


def test_hashes_by_offset(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Equal records have equal hashes in any place; offsets without records have none; keys are hashed separately, too."""
    log(state).append(
        batch(0, [b"a", b"b"], keys=[b"x", b"x"]), marker(2, 7, commit=True), batch(3, [b"a"], keys=[b"x"])
    )
    cluster = connect()
    cluster.refresh({"t"}, Deadline.after(CLOCK, 5_000))
    by_offset, keys = {}, set()
    reader = HashedReader(cluster, split(state), small())
    for chunk in reader.chunks():
        by_offset |= dict(zip(chunk.offsets.tolist(), map(tuple, chunk.hashes.tolist()), strict=True))
        keys |= set(chunk.keys().tolist())
    assert by_offset.keys() == {0, 1, 3}
    assert by_offset[0] == by_offset[3] != by_offset[1]
    assert len(keys) == 1
    assert unread(reader.outcome) is None
    log(state).log_start_offset = 1
    reader = HashedReader(cluster, split(state), QUICK, ALL_FIELDS - {"value"})
    (chunk,) = list(reader.chunks())
    assert len({tuple(pair) for pair in chunk.hashes.tolist()}) == 1
    assert unread(reader.outcome) == "LOST"

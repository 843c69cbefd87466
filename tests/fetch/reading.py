"""A log with content, a split of it, and a reader, with checks of all invariants."""

import threading
from collections.abc import Callable
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.fetch.split import ReadOptions, Split, SplitOutcome
from kafka_lagoon.wire.primitives import uuid_text
from tests.fake.batches import batch
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition
from tests.fake.faults import Altered

Connect = Callable[..., Cluster]
QUICK = ReadOptions(fetch_wait_ms=10, stall_timeout_ms=1_500)


def small(**more: Any) -> ReadOptions:
    """Make options with which a response holds about one batch."""
    return ReadOptions(**{"fetch_bytes": 150, "fetch_wait_ms": 10, "stall_timeout_ms": 1_500, **more})


def log(state: FakeCluster) -> FakePartition:
    """Return the partition."""
    return state.topics["t"].partitions[0]


def fill(state: FakeCluster, batches: int = 5, records: int = 4) -> None:
    """Append batches of a few records each, without gaps."""
    for number in range(batches):
        base = number * records
        log(state).append(batch(base, [b"%d" % offset for offset in range(base, base + records)]))


def split(state: FakeCluster, **more: Any) -> Split:
    """Make a split of the whole log, or of the given offsets."""
    fields = {
        "topic": "t",
        "topic_id": uuid_text(state.topics["t"].topic_id),
        "partition": 0,
        "from_offset": 0,
        "to_offset": log(state).high_watermark,
        "stable_end": log(state).high_watermark,
        **more,
    }
    return Split(**fields)


def read(cluster: Cluster, wanted: Split, options: ReadOptions = QUICK) -> tuple[dict[int, bytes | None], SplitOutcome]:
    """Read the values by offset, and the outcome, which is checked."""
    reader = SplitReader(cluster, wanted, options)
    values: dict[int, bytes | None] = {}
    for rows in reader.batches():
        for offset, value in zip(rows["offset"].to_pylist(), rows["value"].to_pylist(), strict=True):
            assert offset not in values
            values[offset] = value
    outcome = reader.outcome
    check(wanted, outcome)
    assert outcome.counts.records == len(values)
    assert all(wanted.from_offset <= offset < outcome.next_offset for offset in values)
    return values, outcome


def check(wanted: Split, outcome: SplitOutcome) -> None:
    """Check that counts add up to the passed offsets, offsets are unread only after a failure, and no thread is left."""
    assert outcome.counts.offsets() == outcome.next_offset - wanted.from_offset
    assert wanted.from_offset <= outcome.next_offset <= wanted.to_offset
    assert (outcome.failure is None) == (outcome.next_offset == wanted.to_offset)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fetch")]


def altered(change: Callable[[Any], None]) -> Altered:
    """Make a response whose partition is changed."""

    def apply(answer: Any) -> Any:
        change(answer.responses[0].partitions[0])
        return answer

    return Altered(apply)


def damage(fake_batch: FakeBatch, position: int) -> bytes:
    """Invert one byte of the batch."""
    data = fake_batch.data
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]

"""A log whose batches have leader epochs, and the splits of it."""

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.last_epochs import with_last_epochs
from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.tasks import divide
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.cluster import FakeCluster
from tests.fetch.reading import log


def soon() -> Deadline:
    return Deadline.after(CLOCK, 5_000)


def whole(state: FakeCluster, *, start: int = 0, **more: object) -> PlannedRange:
    """Make a range of the whole log."""
    return PlannedRange(
        topic="t",
        topic_id=uuid_text(state.topics["t"].topic_id),
        partition=0,
        from_offset=start,
        to_offset=log(state).high_watermark,
        log_start_offset=0,
        stable_end=log(state).high_watermark,
        **more,  # type: ignore[arg-type]
    )


def in_epochs(state: FakeCluster, *epochs: int) -> None:
    """Make a log of batches of four records, each in its leader epoch."""
    log(state).log.clear()
    for number, epoch in enumerate(epochs):
        log(state).append(batch(number * 4, [b"%d" % epoch] * 4, leader_epoch=epoch))
        log(state).epoch_ends[epoch] = number * 4 + 4
    log(state).leader_epoch = epochs[-1]


def splits(cluster: Cluster, *ranges: PlannedRange, into: int) -> list[Split]:
    """Divide the range into splits, each with the epoch before it."""
    tasks = divide(ranges, lambda planned: planned.offsets, 1, ranges[0].offsets // into)
    return [split for task in with_last_epochs(cluster, tasks, soon()) for split in task.splits]

"""The group's offset of a restore with transactions, compared with the records in the target."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, TargetChanged
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.restore.committed_records import check_committed
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup

GROUP, TARGET, OTHER = "lagoon-restore-1", TopicPartition("orders", 0), TopicPartition("orders", 1)
STABLE = LogBounds(log_start_offset=0, high_watermark=20, last_stable_offset=20, end=20)
HELD_BACK = LogBounds(log_start_offset=0, high_watermark=20, last_stable_offset=5, end=5)


class Applied(FakeCommit):
    """A pending commit that the coordinator applies after it has been asked for a few times."""

    def __init__(self, offset: int, times: int) -> None:
        super().__init__(offset)
        self.times = times

    @property
    def pending(self) -> bool:  # type: ignore[override]
        self.times -= 1
        return self.times >= 0

    @pending.setter
    def pending(self, _: bool) -> None:
        pass


def check(
    state: FakeCluster,
    cluster: Cluster,
    in_target: int,
    commits: dict[TopicPartition, FakeCommit],
    log: LogBounds = STABLE,
    budget_ms: int = 20_000,
) -> None:
    state.groups = {GROUP: FakeGroup(coordinator_id=1, commits={tuple(key): one for key, one in commits.items()})}
    check_committed(cluster, GROUP, TARGET, in_target, log, Deadline.after(CLOCK, budget_ms))


def test_numbers_that_agree(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """No offset is 0 records; offsets of other partitions do not count, also while their transactions are pending."""
    cluster = connect()
    check(state, cluster, 0, {OTHER: FakeCommit(7, pending=True)})
    check(state, cluster, 12, {TARGET: FakeCommit(12), OTHER: FakeCommit(7, pending=True)})


def test_a_commit_that_is_not_applied_yet_is_waited_for(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """The coordinator of the group may still refuse to tell the offset when the transaction has ended."""
    cluster = connect()
    check(state, cluster, 12, {TARGET: Applied(12, 2)})
    with pytest.raises(BrokerError, match="UNSTABLE_OFFSET_COMMIT"):
        check(state, cluster, 12, {TARGET: FakeCommit(12, pending=True)}, budget_ms=1_000)


@pytest.mark.parametrize("code", [-1, 29])
def test_a_commit_that_cannot_be_read(state: FakeCluster, connect: Callable[[], Cluster], code: int) -> None:
    """It is no commit of 0, with which a restore would begin again from its first record."""
    cluster = connect()
    with pytest.raises(BrokerError):
        check(state, cluster, 0, {TARGET: FakeCommit(-1, error_code=code)})


def test_records_that_are_gone(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Fewer or more records than were committed end the restore of the partition."""
    cluster = connect()
    for in_target in (11, 13):
        with pytest.raises(TargetChanged, match=rf"{in_target} records.* committed 12: some were deleted or compacted"):
            check(state, cluster, in_target, {TARGET: FakeCommit(12)})


def test_records_that_open_transactions_of_others_hold_back(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """They are not gone: another restore would double them, so the reason does not say so."""
    cluster = connect()
    with pytest.raises(TargetChanged, match=r"11 records.* open transactions of others hide the rest"):
        check(state, cluster, 11, {TARGET: FakeCommit(12)}, HELD_BACK)
    with pytest.raises(TargetChanged, match="some were deleted or compacted"):
        check(state, cluster, 13, {TARGET: FakeCommit(12)}, HELD_BACK)

"""A snapshot has only the topics and groups that the settings choose, requests no others, and says how many it left out."""

from collections.abc import Callable

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.snapshot.chosen_names import ChosenNames, Names
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow, PartitionRow, StoredReplicaRow, TopicRow
from kafka_lagoon.tables.group_rows import CommittedOffsetRow, ConsumerGroupRow, ConsumerLagRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow, Snapshot, SnapshotRow
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup


@pytest.mark.parametrize(
    ("include", "exclude", "chosen"),
    [
        (None, None, ["a", "ab", "b", ""]),
        ("a.*", None, ["a", "ab"]),
        ("a", None, ["a"]),
        (None, "a", ["ab", "b", ""]),
        ("a.*", ".*b", ["a"]),
        ("x", None, []),
        ("", None, [""]),
    ],
)
def test_patterns_are_of_whole_names(include: str | None, exclude: str | None, chosen: list[str]) -> None:
    """A name is chosen if it, or no name, is included, and if it is not excluded; a missing name is always chosen."""
    names = Names.of(include, exclude)
    assert [name for name in ("a", "ab", "b", "") if name in names] == chosen
    assert None in names
    assert names.are_all == (include is exclude is None)


def taken(state: FakeCluster, connect: Callable[..., Cluster], chosen: ChosenNames) -> tuple[Snapshot, Cluster]:
    """Take a snapshot of a cluster where every group has a commit on every topic."""
    state.add_topic("payments", 2)
    for group in ("billing", "audit"):
        commits = {(topic, 0): FakeCommit(10) for topic in ("orders", "payments", "deleted")}
        state.groups[group] = FakeGroup(coordinator_id=1, commits=commits)
    cluster = connect()
    return collect(cluster, "c", 0, Deadline.after(CLOCK, 20_000), lambda *_: None, chosen=chosen), cluster


def test_what_is_not_chosen_is_not_asked_for(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Topics that are left out have no rows and no requests for offsets, and groups that are left out are not described."""
    chosen = ChosenNames(topics=Names.of("orders|deleted", None), groups=Names.of(None, "audit"))
    made, cluster = taken(state, connect, chosen)
    assert {row.topic for row in made.of(TopicRow)} == {"orders"}
    assert (
        {row.topic for row in made.of(PartitionRow)}
        == {row.topic for row in made.of(PartitionOffsetsRow)}
        == {"orders"}
    )
    assert {(row.group_id, row.topic) for row in made.of(ConsumerLagRow)} == {
        ("billing", "orders"),
        ("billing", "deleted"),
    }
    assert {row.topic for row in made.of(CommittedOffsetRow)} == {"orders", "deleted"}
    assert {row.group_id for row in made.of(ConsumerGroupRow)} == {"billing"}
    assert (made.of(SnapshotRow)[0].topics, made.of(SnapshotRow)[0].groups) == (1, 1)
    items = cluster.request_stats.item_counts
    assert sum(count.answered for (api, _), count in items.items() if api == "OffsetFetch") == 1
    assert sum(count.answered for (api, _), count in items.items() if api == "ListOffsets") % 6 == 0
    left_out = {row.api: row.left_out for row in made.of(CoverageRow) if row.not_collected_because == "LEFT_OUT"}
    assert left_out == {"Metadata": 1, "ListGroups": 1}


def test_a_directory_stays_without_its_replicas(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The disk of a broker is a row, although topics that are left out have all of its replicas."""
    whole, _ = taken(state, connect, ChosenNames())
    directories = {(row.broker_id, row.log_dir, row.usable_bytes) for row in whole.of(StoredReplicaRow)}
    made, _ = taken(state, connect, ChosenNames(topics=Names.of("none", None)))
    kept = made.of(StoredReplicaRow)
    assert {(row.broker_id, row.log_dir, row.usable_bytes) for row in kept} == directories
    assert {row.topic for row in kept} == {None}
    assert len(kept) == len(directories)


def test_the_footprint_is_what_the_brokers_saw(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Requests, bytes in both directions and requests in flight in coverage equal what the brokers counted."""
    made, _ = taken(state, connect, ChosenNames())
    coverage = made.of(CoverageRow)
    assert sum(row.requests for row in coverage) == len(state.requests)
    assert sum(row.bytes_sent or 0 for row in coverage) == sum(state.received)
    assert sum(row.bytes for row in coverage) == sum(state.sent)
    assert {row.most_in_flight for row in coverage if row.requests} <= {1, 2, 3, 4, 5}
    assert {row.most_in_flight for row in coverage if not row.requests} <= {0}


def test_without_patterns_nothing_is_said(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """Every topic and group is included, and coverage has no row about names that were left out."""
    made, _ = taken(state, connect, ChosenNames())
    assert {row.topic for row in made.of(TopicRow)} == {"orders", "payments"}
    assert {row.group_id for row in made.of(ConsumerGroupRow)} == {"billing", "audit"}
    assert not [row for row in made.of(CoverageRow) if row.left_out is not None]

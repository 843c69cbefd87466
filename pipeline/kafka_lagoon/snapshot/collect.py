"""A cluster in, one snapshot of it out: the order of the questions.

Guards one rule: ends, groups, commits, ends again, metadata again. No end is older than the commit that it is compared
with, and the ends from before the commits bound the lag from below. Only reads; nothing is created on the cluster.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_lagoon import __version__
from kafka_lagoon.admin.cluster import Identity, identify
from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.admin.groups import SHARE, GroupListing, describe_groups, list_groups
from kafka_lagoon.admin.offsets import ALL_KINDS, HIGH_WATERMARK, Kind, Offsets, list_offsets
from kafka_lagoon.admin.releases import kafka_version_range
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, ScopeType, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.gc_pause import gc_paused
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot import state_rows as rows
from kafka_lagoon.snapshot.commits import Commits, commits_of
from kafka_lagoon.snapshot.coverage import coverage_rows, failure_rows, visibility
from kafka_lagoon.snapshot.groups import Groups, group_rows
from kafka_lagoon.snapshot.lag import Ends, lag_rows
from kafka_lagoon.snapshot.min_isr import read_durability
from kafka_lagoon.snapshot.offsets import offset_rows
from kafka_lagoon.snapshot.topology import (
    Durability,
    Topology,
    broker_rows,
    changes,
    partition_rows,
    topic_rows,
    topology_of,
)
from kafka_lagoon.uuid7 import new_id

STEPS = ("cluster", "end offsets", "groups", "committed offsets", "end offsets again", "topics again", "health")

Tell = Callable[[str, int], None]  # the step that begins, and how many items it concerns


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """Groups, their commits, and the ends of all partitions before and after those were read."""

    before: Offsets
    listed: Mapping[str, GroupListing]
    groups: Groups
    commits: Commits
    after: Mapping[Kind, Offsets]
    failures: Sequence[Failure]


@gc_paused()
def collect(cluster: Cluster, name: str, slot_ms: int, deadline: Deadline, tell: Tell) -> rows.Snapshot:
    """One snapshot of `cluster`, called `name` in the tables, for the scheduler's time `slot_ms` (epoch milliseconds).

    Raises when no broker tells the topics at all; whatever else fails is a row of the snapshot.
    """
    started_at_ms = cluster.clock.now_ms()
    tell("cluster", len(cluster.brokers))
    identity = identify(cluster, deadline)
    topology = topology_of(cluster.refresh(None, deadline))
    state = read_groups(cluster, topology, deadline, tell)
    tell("topics again", len(topology.partitions))
    topology, unchecked = check_again(cluster, topology, deadline)
    tell("health", len(topology.partitions))
    durability, unread = read_durability(cluster, list(topology.partitions), deadline)
    failures = list(worth_a_row([*identity.failures, *state.failures, *unchecked, *unread], topology))
    found = _facts(cluster, identity, topology, state, durability, failures)
    header = rows.SnapshotHeader(
        snapshot_id=new_id(started_at_ms),
        cluster=name,
        cluster_id=topology.metadata.cluster_id,
        captured_at_ms=started_at_ms,
    )
    published = _published(cluster, found, slot_ms, started_at_ms)
    return rows.Snapshot(header=header, rows={**found, rows.SnapshotRow: [published]})


@gc_paused()
def read_groups(
    cluster: Cluster,
    topology: Topology,
    deadline: Deadline,
    tell: Tell,
    kinds: Sequence[Kind] = ALL_KINDS,
    only: Collection[str] | None = None,
) -> GroupState:
    """All that lag is made of, in the order that makes it honest; `kinds` of ends are read after the commits.

    Groups other than `only` are not asked about, where it is given.
    """
    everywhere = topology.every_partition()
    tell("end offsets", len(everywhere))
    before = list_offsets(cluster, everywhere, [HIGH_WATERMARK], deadline)[HIGH_WATERMARK]
    tell("groups", len(cluster.brokers))
    listings = list_groups(cluster, deadline)
    listed = {group_id: one for group_id, one in listings.groups.items() if only is None or group_id in only}
    groups = group_rows(listed, describe_groups(cluster, listed, deadline), topology)
    committing = [group_id for group_id, one in listed.items() if one.group_type != SHARE]
    tell("committed offsets", len(committing))
    commits = commits_of(committed_offsets(cluster, committing, deadline), topology)
    tell("end offsets again", len(everywhere))
    after = list_offsets(cluster, everywhere, kinds, deadline)
    ends = [failure for one in (before, *after.values()) for failure in one.failures.values()]
    return GroupState(
        before=before,
        listed=listed,
        groups=groups,
        commits=commits,
        after=after,
        failures=[*listings.failures, *groups.failures, *commits.failures, *ends],
    )


def check_again(cluster: Cluster, before: Topology, deadline: Deadline) -> tuple[Topology, list[Failure]]:
    """The topology, with the topics named that did not last until now."""
    try:
        after = topology_of(cluster.refresh(None, deadline))
    except PipelineError as error:
        return before, [failure_of(METADATA, Scope.list("all topics"), error)]
    return replace(before, changed=changes(before.topic_ids, after.topic_ids)), []


def worth_a_row(failures: Iterable[Failure], topology: Topology) -> Iterator[Failure]:
    """Failures of the collection: not what brokers are too old for, nor partitions of topics deleted meanwhile."""
    for failure in failures:
        deleted = failure.scope.scope_type is ScopeType.PARTITION and failure.scope.topic in topology.changed
        if failure.name != UNSUPPORTED and not deleted:
            yield failure


def _facts(
    cluster: Cluster,
    identity: Identity,
    topology: Topology,
    state: GroupState,
    durability: Durability,
    failures: Sequence[Failure],
) -> dict[type[rows.Row], Sequence[rows.Row]]:
    offsets = list(offset_rows(topology, state.after))
    return {
        rows.BrokerRow: list(broker_rows(topology.metadata, identity)),
        rows.TopicRow: list(topic_rows(topology)),
        rows.PartitionRow: list(partition_rows(topology, durability)),
        rows.PartitionOffsetsRow: offsets,
        rows.ConsumerGroupRow: state.groups.groups,
        rows.GroupMemberRow: state.groups.members,
        rows.CommittedOffsetRow: state.commits.rows,
        rows.ConsumerLagRow: lag_of(topology, state, offsets),
        rows.CoverageRow: list(coverage_rows(cluster.request_stats, visibility(identity.operations))),
        rows.CollectionFailureRow: list(failure_rows(failures)),
    }


def lag_of(
    topology: Topology, state: GroupState, offsets: Sequence[rows.PartitionOffsetsRow]
) -> list[rows.ConsumerLagRow]:
    """The lag of all groups that commit (share groups do not), given the rows of the ends read after their commits."""
    ends = Ends(
        before={at: one.offset for at, one in state.before.answers.items() if one.offset >= 0},
        before_problems={at: failure.name for at, failure in state.before.failures.items()},
        after={TopicPartition(one.topic, one.partition): one for one in offsets},
    )
    groups, commits = state.groups, state.commits
    committing = [group for group in groups.groups if group.group_type != SHARE]
    unread = {
        failure.scope.group_id: failure.name
        for failure in commits.failures
        if failure.scope.scope_type is ScopeType.GROUP and failure.scope.group_id is not None
    }
    return list(lag_rows(committing, groups.members, commits.rows, unread, ends, topology))


def _published(
    cluster: Cluster,
    found: Mapping[type[rows.Row], Sequence[rows.Row]],
    slot_ms: int,
    started_at_ms: int,
) -> rows.SnapshotRow:
    """The row that makes the others count."""
    coverage = [one for one in found[rows.CoverageRow] if isinstance(one, rows.CoverageRow)]
    expected = sum(one.expected for one in coverage)
    return rows.SnapshotRow(
        slot_ms=slot_ms,
        started_at_ms=started_at_ms,
        finished_at_ms=cluster.clock.now_ms(),
        status="partial" if found[rows.CollectionFailureRow] else "complete",
        software_version=__version__,
        kafka_version_range=kafka_version_range(cluster.api_versions()),
        brokers=len(found[rows.BrokerRow]),
        topics=len(found[rows.TopicRow]),
        partitions=len(found[rows.PartitionRow]),
        groups=len(found[rows.ConsumerGroupRow]),
        failures=len(found[rows.CollectionFailureRow]),
        requests=sum(one.requests for one in coverage),
        bytes_in=sum(one.bytes for one in coverage),
        bytes_out=sum(one.request_bytes for one in cluster.request_stats.by_api.values()),
        throttle_ms=sum(one.throttle_ms for one in coverage),
        completeness=sum(one.answered for one in coverage) / expected if expected else None,
    )

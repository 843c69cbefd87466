"""Reads all inputs of consumer lag in the order that keeps lag correct.

The order is: starts and ends of logs, groups, committed offsets, ends again. No end offset is older than the commit that it is
compared with, and the end offsets from before the commits bound the lag from below. No start of a log is newer than the commit,
because records that were read, committed and deleted in between would look lost: Kafka Streams deletes records it has read.
"""

from collections.abc import Callable, Container, Mapping, Sequence

from kafka_lagoon.admin.committed_offsets import committed_offsets
from kafka_lagoon.admin.groups import SHARE, GroupListing, describe_groups, list_groups
from kafka_lagoon.admin.offsets import ALL_KINDS, HIGH_WATERMARK, LOCAL_START, LOG_START, Kind, Offsets, list_offsets
from kafka_lagoon.admin.share_groups import ShareOffsets, share_group_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, errors_by_group
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.snapshot.commits import Commits, commits_of
from kafka_lagoon.snapshot.group_types import GONE
from kafka_lagoon.snapshot.groups import Groups, group_rows
from kafka_lagoon.snapshot.lag import LagColumns, lag_rows
from kafka_lagoon.snapshot.lag_logs import PartitionLogs
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.cluster_rows import PartitionOffsetsRow

Tell = Callable[[str, int], None]  # called with the step that begins and its number of items
# The local start is requested first. Without tiered storage both are the same offset, which may move in between: if the local
# start were the larger one, deleted records would look as if they were in tiered storage.
_STARTS = (LOCAL_START, LOG_START)


@frozen
class GroupState:
    """Groups, their commits, and the offsets of all partitions.

    `before` are the end offsets that were read before the commits. `offsets` are of every kind: starts of logs were read before
    the commits, all others after them.
    """

    before: Offsets
    listed: Mapping[str, GroupListing]
    left_out: int  # number of listed groups that were excluded
    groups: Groups
    commits: Commits
    shares: ShareOffsets
    offsets: Mapping[Kind, Offsets]
    failures: Sequence[Failure]


@gc_paused()
def read_groups(
    cluster: Cluster,
    topology: Topology,
    deadline: Deadline,
    tell: Tell,
    kinds: Sequence[Kind] = ALL_KINDS,
    only: Container[str] | None = None,
) -> GroupState:
    """Read the inputs of lag, with these `kinds` of offsets. With `only`, other groups are left out."""
    everywhere = topology.every_partition()
    tell("end offsets", len(everywhere))
    starts = [kind for kind in _STARTS if kind in kinds]
    # A new leader has no high watermark for clients until replicas have followed it, which may last as long as too few are in
    # sync: such a partition does not take the time of all others.
    earlier = list_offsets(cluster, everywhere, [*starts, HIGH_WATERMARK], deadline.half())
    tell("groups", len(cluster.brokers))
    listings = list_groups(cluster, deadline)
    listed = {group_id: one for group_id, one in listings.groups.items() if only is None or group_id in only}
    groups = group_rows(listed, describe_groups(cluster, listed, deadline), topology)
    committing = [group_id for group_id, one in listed.items() if one.group_type != SHARE]
    tell("committed offsets", len(committing))
    commits = commits_of(committed_offsets(cluster, committing, deadline), topology)
    sharing = [group_id for group_id, one in listed.items() if one.group_type == SHARE]
    shares = share_group_offsets(cluster, sharing, deadline)
    tell("end offsets again", len(everywhere))
    later = list_offsets(cluster, everywhere, [kind for kind in kinds if kind not in starts], deadline.half())
    offsets = {kind: (earlier if kind in starts else later)[kind] for kind in kinds}
    refused = [failure for failure in shares.failures if failure.name != GONE]
    before = earlier[HIGH_WATERMARK]
    bounds = [failure for one in (before, *offsets.values()) for failure in one.failures.values()]
    return GroupState(
        before=before,
        listed=listed,
        left_out=len(listings.groups) - len(listed),
        groups=groups,
        commits=commits,
        shares=shares,
        offsets=offsets,
        failures=[*listings.failures, *groups.failures, *commits.failures, *refused, *bounds],
    )


def lag_of(topology: Topology, state: GroupState, offsets: Sequence[PartitionOffsetsRow]) -> LagColumns:
    """Lag of all groups except share groups, which do not commit; `offsets` are rows made from the state's offsets."""
    logs = PartitionLogs(topology, state.before, offsets)
    groups, commits = state.groups, state.commits
    committing = [group for group in groups.groups if group.group_type != SHARE]
    return lag_rows(committing, groups.members, commits.rows, unread_groups(state), logs)


def unread_groups(state: GroupState) -> dict[str, str]:
    """The error of each group whose commits, or offsets of a share group, could not be read at all."""
    return errors_by_group((*state.commits.failures, *state.shares.failures))

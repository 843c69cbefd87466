"""Makes actions that set the offsets of groups: to the start or the end of logs, an offset, a time, or by a number of records.

For share groups they are start offsets, for all others commits; the type of a group that exists decides. Nothing is moved
into a log that it is outside of: such a partition is a failure, and the others are set.

Setting the start offset that a share group has already is no alteration only if it has processed no record after it. Otherwise
those records are delivered again, and the start offset of an idle group is often below records that it has processed.
"""

from collections.abc import Iterator, Mapping

from kafka_lagoon.admin.group_offsets import Commit, GroupPartition
from kafka_lagoon.admin.groups import SHARE, GroupListings, described_as, list_groups
from kafka_lagoon.apply.action import Action, State
from kafka_lagoon.apply.kinds.groups import (
    GroupCommits,
    alter_offsets_action,
    alter_share_offsets_action,
    read_commits,
    read_share_offsets,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.offset_resolution import resolve
from kafka_lagoon.fetch.offset_specs import OffsetSpec, OffsetSpecs
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.fetch.split import READ_UNCOMMITTED
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.topic_partition import TopicPartition

NO_COMMIT, OUTSIDE, HAS_MEMBERS = "NO_COMMIT", "OFFSET_OUT_OF_RANGE", "NON_EMPTY_GROUP"
_API = "reset"
_WITHOUT_MEMBERS = ("Empty", "Dead", "")  # the last: brokers before 2.6 list no states


@frozen(kw_only=False)
class ShiftBy:
    """So many offsets after what the group has stored, or before it."""

    offsets: int


ResetSpec = OffsetSpec | ShiftBy


@frozen
class _Group:
    """A group with what it has stored, and the logs of the partitions that are reset."""

    group_id: str
    is_share: bool
    stored: GroupCommits
    logs: Mapping[TopicPartition, LogBounds]

    def item(self, partition: TopicPartition) -> GroupPartition:
        return GroupPartition(self.group_id, *partition)

    def failure(self, partition: TopicPartition, name: str, message: str) -> Failure:
        return own_failure(_API, Scope.group_partition(self.group_id, *partition), name, message)

    def action(self, partition: TopicPartition, before: State, offset: int, source: str | None) -> Action:
        if self.is_share:
            return alter_share_offsets_action(self.item(partition), before, offset, source)
        return alter_offsets_action(self.item(partition), before, Commit(offset), source)

    def stored_offset(self, state: State) -> int | None:
        return None if state is None else state["start_offset" if self.is_share else "committed_offset"]

    def redelivers(self, partition: TopicPartition, start_offset: int) -> bool:
        """True if records are delivered again once the present start offset of a share group is set."""
        log, lag = self.logs[partition], self.stored.lags.get(self.item(partition))
        is_behind = lag is None or lag < log.end - start_offset
        return self.is_share and is_behind and log.log_start_offset <= start_offset <= log.end


def reset_actions(
    cluster: Cluster,
    group_id: str,
    specs: Mapping[TopicPartition, ResetSpec],
    deadline: Deadline,
    source: str | None = None,
    listings: GroupListings | None = None,
) -> tuple[list[Action], list[Failure]]:
    """Actions that set a group's offsets in these partitions, and why there is none for others.

    None is needed where the group has that offset already, and would read nothing again. A group that does not exist is made
    by the first commit. The cluster's groups are listed unless they are given.
    """
    listings = list_groups(cluster, deadline) if listings is None else listings
    if busy := members_failure(listings, group_id):
        return [], [busy]
    try:
        cluster.refresh({partition.topic for partition in specs}, deadline)
    except PipelineError as error:
        return [], [failure_of(METADATA, Scope.list("topics of the group"), error)]
    listing = listings.groups.get(group_id)
    is_share = listing is not None and described_as(listing) == SHARE
    read = read_share_offsets if is_share else read_commits
    stored = read(cluster, listings, [group_id], deadline)
    # After the lag of a share group: records that are written in between must not hide those that it has processed.
    logs, failures = ask_log_bounds(cluster, list(specs), READ_UNCOMMITTED, deadline)
    group = _Group(group_id=group_id, is_share=is_share, stored=stored, logs=logs)
    targets, unresolved = _targets(cluster, group, specs, deadline)
    results = list(_results(group, targets, source))
    return (
        [one for one in results if isinstance(one, Action)],
        [*failures.values(), *unresolved, *(one for one in results if isinstance(one, Failure))],
    )


def members_failure(listings: GroupListings, group_id: str, api: str = _API) -> Failure | None:
    """Why a group or its offsets cannot be altered by `api`: it has members. None if it has none, or is not there."""
    listing = listings.groups.get(group_id)
    if listing is None or listing.group.group_state in _WITHOUT_MEMBERS:
        return None
    message = f"the group is {listing.group.group_state}: stop its members first"
    return own_failure(api, Scope.group(group_id), HAS_MEMBERS, message)


def _targets(
    cluster: Cluster, group: _Group, specs: Mapping[TopicPartition, ResetSpec], deadline: Deadline
) -> tuple[dict[TopicPartition, int | ShiftBy], list[Failure]]:
    """The offsets that the specs name; shifts as they are."""
    shifts = {partition: spec for partition, spec in specs.items() if isinstance(spec, ShiftBy)}
    others: dict[TopicPartition, OffsetSpec] = {
        partition: spec for partition, spec in specs.items() if not isinstance(spec, ShiftBy)
    }
    resolved = resolve(
        cluster,
        OffsetSpecs(name=_API, by_partition=others),
        {partition: log for partition, log in group.logs.items() if partition in others},
        deadline,
    )
    targets: dict[TopicPartition, int | ShiftBy] = {**resolved.offsets, **shifts}
    return {one: targets[one] for one in specs if one in targets and one in group.logs}, list(
        resolved.failures.values()
    )


def _results(
    group: _Group, targets: Mapping[TopicPartition, int | ShiftBy], source: str | None
) -> Iterator[Action | Failure]:
    """The action for each partition, or the reason why there is none."""
    for partition, target in targets.items():
        before = group.stored.of(group.item(partition))
        if isinstance(before, Failure):
            yield before
            continue
        stored = group.stored_offset(before)
        if isinstance(target, ShiftBy) and stored is None:
            yield group.failure(partition, NO_COMMIT, "the group has stored no offset that could be shifted")
            continue
        offset = (stored or 0) + target.offsets if isinstance(target, ShiftBy) else target
        log = group.logs[partition]
        # Done, also if retention has deleted the record since.
        if offset == stored and not group.redelivers(partition, offset):
            continue
        if not log.log_start_offset <= offset <= log.end:
            yield group.failure(
                partition, OUTSIDE, f"{offset} is outside of the log, {log.log_start_offset} to {log.end}"
            )
        else:
            yield group.action(partition, before, offset, source)

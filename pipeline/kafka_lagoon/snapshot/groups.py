"""Makes rows of groups and their members. A group that could not be described keeps its row, with the reason in it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kafka_lagoon.admin.groups import (
    CLASSIC,
    CONSUMER,
    SHARE,
    STREAMS,
    GroupDescriptions,
    GroupListing,
    described_as,
)
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.frozen import frozen
from kafka_lagoon.snapshot.group_types import (
    GONE,
    ConsumerProtocol,
    GroupAndMembers,
    classic_group,
    consumer_group,
    names_are_missing,
    share_group,
    streams_group,
    undescribed_group,
)
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.group_rows import ConsumerGroupRow, GroupMemberRow


@frozen
class Groups:
    """Rows of all groups and members, and failures; a group that was deleted meanwhile is no failure."""

    groups: Sequence[ConsumerGroupRow]
    members: Sequence[GroupMemberRow]
    failures: Sequence[Failure]


def needs_topology(groups: Mapping[str, GroupListing], described: GroupDescriptions) -> bool:
    """True if rows of these groups need names or partitions of topics that the descriptions do not hold."""
    groups = {**groups, **described.migrated}
    return any(
        described_as(groups[group_id]) == STREAMS or names_are_missing(description)
        for group_id, description in described.descriptions.items()
    )


def group_rows(groups: Mapping[str, GroupListing], described: GroupDescriptions, topology: Topology | None) -> Groups:
    """Rows of the listed groups and of their members, ordered by group.

    `topology` may be None if `needs_topology` is false.
    """
    makers = _row_makers(topology)
    groups = {**groups, **described.migrated}
    group_rows: list[ConsumerGroupRow] = []
    member_rows: list[GroupMemberRow] = []
    for group_id, listing in sorted(groups.items()):
        coordinator_id = described.coordinator_ids.get(group_id, listing.node_id)
        if group_id in described.descriptions:
            make = makers[described_as(listing)]
            group, members = make(listing, described.descriptions[group_id], coordinator_id)
        else:
            group, members = undescribed_group(listing, _reason(described.failures.get(group_id)), coordinator_id), []
        group_rows.append(group)
        member_rows += members
    failures = [failure for failure in described.failures.values() if failure.name != GONE]
    return Groups(groups=group_rows, members=member_rows, failures=failures)


def _row_makers(topology: Topology | None) -> Mapping[str, Callable[[GroupListing, Any, int], GroupAndMembers]]:
    names = topology.names() if topology else {}
    partitions = topology.partitions if topology else {}
    return {
        CLASSIC: partial(classic_group, protocol=ConsumerProtocol()),
        CONSUMER: partial(consumer_group, names=names),
        SHARE: partial(share_group, names=names),
        STREAMS: partial(streams_group, partitions=partitions),
    }


def _reason(failure: Failure | None) -> str | None:
    """The reason why a group was not described; None if its type cannot be described with these APIs."""
    return None if failure is None or failure.is_too_old else failure.name

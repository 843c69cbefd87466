"""Alters and deletes what groups have stored, and deletes groups.

Kinds, their resources and states:

- `alter_offsets`: `group_partition`, named `GROUP TOPIC-PARTITION`: {committed_offset, leader_epoch?, metadata?} or None ->
  {committed_offset, leader_epoch?, metadata?}. `delete_offsets`: the same -> None, with DELETIONS. Where the leader epoch is
  not known, or the metadata are empty, they are left out.
- `alter_share_offsets`: `share_group_partition`, named likewise: {start_offset} or None -> {start_offset}. Both are the same
  where only records after it are to be delivered again.
- `delete_share_offsets`: `share_group_topic`, named `GROUP TOPIC`: {start_offsets: {"0": 5, "1": null}} -> None, with
  DELETIONS. A partition that was not read yet has null.
- `delete_group`: `group`: {state, type} -> None, with DELETIONS.

Coordinators refuse all of it while a group has members.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafka_lagoon.admin.committed_offsets import CommittedOffsets, committed_offsets
from kafka_lagoon.admin.group_offsets import UNKNOWN_EPOCH, Commit, GroupPartition, alter_offsets, delete_offsets
from kafka_lagoon.admin.groups import GroupListings, delete_groups, described_as, list_groups
from kafka_lagoon.admin.share_groups import (
    GroupTopic,
    ShareOffsets,
    alter_share_offsets,
    delete_share_offsets,
    share_group_offsets,
)
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State, same_state
from kafka_lagoon.apply.kinds.names import parse_partition
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import GROUP_ID_NOT_FOUND, UNSTABLE_OFFSET_COMMIT
from kafka_lagoon.protocol.messages.describe_share_group_offsets import UNKNOWN_LAG
from kafka_lagoon.protocol.messages.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
)

_GROUP_PARTITION, _SHARE_PARTITION, _SHARE_TOPIC = "group_partition", "share_group_partition", "share_group_topic"
_DELETIONS = frozenset({Guard.DELETIONS})
_PENDING = "a transaction is about to replace the commit, and the present one was not returned"


def group_partition_resource(item: GroupPartition) -> Resource:
    """The commit of a group for a partition."""
    return Resource(_GROUP_PARTITION, f"{item.group_id} {item.topic_partition}")


def share_partition_resource(item: GroupPartition) -> Resource:
    """The start offset of a share group in a partition."""
    return Resource(_SHARE_PARTITION, f"{item.group_id} {item.topic_partition}")


def share_topic_resource(item: GroupTopic) -> Resource:
    """The start offsets of a share group in a topic."""
    return Resource(_SHARE_TOPIC, f"{item.group_id} {item.topic}")


def parse_group_partition(name: str) -> GroupPartition:
    """The group and the partition of a resource's name; ValueError if one is missing."""
    group_id, _, partition = name.rpartition(" ")
    return GroupPartition(group_id, *parse_partition(partition))


def parse_group_topic(name: str) -> GroupTopic:
    """The group and the topic of a resource's name."""
    group_id, _, topic = name.rpartition(" ")
    return GroupTopic(group_id, topic)


def commit_state(commit: Commit) -> dict[str, Any]:
    """A commit as a state."""
    state: dict[str, Any] = {"committed_offset": commit.offset}
    if commit.leader_epoch != UNKNOWN_EPOCH:
        state["leader_epoch"] = commit.leader_epoch
    if commit.metadata:
        state["metadata"] = commit.metadata
    return state


def alter_offsets_action(item: GroupPartition, before: State, after: Commit, source: str | None = None) -> Action:
    """The action that commits an offset; `before` as `read_commits` gives it."""
    resource = group_partition_resource(item)
    return Action(kind="alter_offsets", resource=resource, before=before, after=commit_state(after), source=source)


def delete_offsets_action(item: GroupPartition, before: State) -> Action:
    """The action that deletes a commit."""
    resource = group_partition_resource(item)
    return Action(kind="delete_offsets", resource=resource, before=before, after=None, guards=_DELETIONS)


def alter_share_offsets_action(
    item: GroupPartition, before: State, start_offset: int, source: str | None = None
) -> Action:
    """The action that sets the start offset of a share group; `before` is from `read_share_offsets`."""
    return Action(
        kind="alter_share_offsets",
        resource=share_partition_resource(item),
        before=before,
        after={"start_offset": start_offset},
        source=source,
    )


def delete_share_offsets_action(item: GroupTopic, before: State) -> Action:
    """The action that deletes the start offsets of a share group in a topic."""
    resource = share_topic_resource(item)
    return Action(kind="delete_share_offsets", resource=resource, before=before, after=None, guards=_DELETIONS)


def delete_group_action(group_id: str, before: State, source: str | None = None) -> Action:
    """The action that deletes a group."""
    return Action(
        kind="delete_group",
        resource=Resource("group", group_id),
        before=before,
        after=None,
        guards=_DELETIONS,
        source=source,
    )


class GroupCommits(NamedTuple):
    """Commits of groups, and failures by partition, or by group for all of its partitions.

    `lags` are those of share groups, where their coordinators count them.
    """

    states: Mapping[GroupPartition, State]
    failures: Mapping[GroupPartition | str, Failure]
    lags: Mapping[GroupPartition, int] = MappingProxyType({})

    def of(self, item: GroupPartition) -> State | Failure:
        """The state of one partition of a group; None if nothing is stored."""
        return self.failures.get(item) or self.failures.get(item.group_id) or self.states.get(item)


def read_commits(
    cluster: Cluster, listings: GroupListings, group_ids: Sequence[str], deadline: Deadline
) -> GroupCommits:
    """Read all commits of these groups; none of a group that is not listed. A pending transaction does not change them."""
    listed = [group_id for group_id in dict.fromkeys(group_ids) if group_id in listings.groups]
    return _commits(committed_offsets(cluster, listed, deadline), _not_listed(listings, group_ids))


def _not_listed(listings: GroupListings, group_ids: Sequence[str]) -> dict[GroupPartition | str, Failure]:
    """Groups that a broker which did not answer may have."""
    if not listings.failures:
        return {}
    return {group_id: listings.failures[0] for group_id in group_ids if group_id not in listings.groups}


def _commits(fetched: CommittedOffsets, failures: dict[GroupPartition | str, Failure]) -> GroupCommits:
    states: dict[GroupPartition, State] = {}
    for answers in (fetched.answers, fetched.replaced):
        for item, partition in _by_item(answers):
            if partition.error_code != UNSTABLE_OFFSET_COMMIT and partition.committed_offset >= 0:
                states[item] = commit_state(_commit(partition))
            elif partition.error_code == UNSTABLE_OFFSET_COMMIT and item.group_id not in fetched.replaced:
                # A state is missing only if nothing is stored, which the missing second answer does not say.
                failures[item] = failure_of(
                    OFFSET_FETCH, Scope.group_partition(*item), UNSTABLE_OFFSET_COMMIT, explanation=_PENDING
                )
    for failure in fetched.failures:
        scope = failure.scope
        if scope.topic is not None and scope.partition is not None:
            failures[GroupPartition(scope.group_id or "", scope.topic, scope.partition)] = failure
        elif scope.group_id is not None:
            failures[scope.group_id] = failure
    return GroupCommits(states, failures)


def _by_item(
    answers: Mapping[str, OffsetFetchResponseGroup],
) -> Iterator[tuple[GroupPartition, OffsetFetchResponsePartition]]:
    for group_id, group in answers.items():
        for topic in group.topics:
            for partition in topic.partitions:
                yield GroupPartition(group_id, topic.name, partition.partition_index), partition


def _commit(partition: OffsetFetchResponsePartition) -> Commit:
    return Commit(partition.committed_offset, partition.committed_leader_epoch, partition.metadata or "")


def read_share_offsets(
    cluster: Cluster, listings: GroupListings, group_ids: Sequence[str], deadline: Deadline
) -> GroupCommits:
    """Read the start offsets of share groups in all of their partitions; None where they have not read yet."""
    listed = [group_id for group_id in dict.fromkeys(group_ids) if group_id in listings.groups]
    return _share_offsets(share_group_offsets(cluster, listed, deadline), _not_listed(listings, group_ids))


def _share_offsets(offsets: ShareOffsets, failures: dict[GroupPartition | str, Failure]) -> GroupCommits:
    stored = {
        GroupPartition(group_id, topic.topic_name, partition.partition_index): partition
        for group_id, group in offsets.answers.items()
        for topic in group.topics
        for partition in topic.partitions
        if not partition.error_code
    }
    states: dict[GroupPartition, State] = {
        item: {"start_offset": one.start_offset} if one.start_offset >= 0 else None for item, one in stored.items()
    }
    lags = {item: one.lag for item, one in stored.items() if one.lag != UNKNOWN_LAG}
    for failure in offsets.failures:
        scope = failure.scope
        if scope.topic is not None and scope.partition is not None:
            failures[GroupPartition(scope.group_id or "", scope.topic, scope.partition)] = failure
        elif scope.group_id is not None:
            failures[scope.group_id] = failure
    return GroupCommits(states, failures, lags)


def share_topic_states(commits: GroupCommits, items: Iterable[GroupTopic]) -> dict[GroupTopic, State | Failure]:
    """The start offset of a share group in each partition of a topic that it knows; None if it knows none.

    A partition that it has not read yet has no start offset, and is deleted with its topic like the others.
    """
    failures: dict[GroupTopic | str, Failure] = {}
    for key, failure in commits.failures.items():
        failures.setdefault(key if isinstance(key, str) else GroupTopic(*key[:2]), failure)
    offsets: dict[GroupTopic, dict[str, Any]] = {}
    for key, state in sorted(commits.states.items()):
        start_offset = None if state is None else state["start_offset"]
        offsets.setdefault(GroupTopic(*key[:2]), {})[str(key.partition)] = start_offset
    return {
        item: failures.get(item.group_id)
        or failures.get(item)
        or ({"start_offsets": offsets[item]} if item in offsets else None)
        for item in items
    }


def group_state(listings: GroupListings, group_id: str) -> State | Failure:
    """The state and type of a group; None if it does not exist."""
    if listing := listings.groups.get(group_id):
        return {"state": listing.group.group_state or None, "type": described_as(listing)}
    return listings.failures[0] if listings.failures else None


def _by_partition(
    read: Callable[[Cluster, GroupListings, Sequence[str], Deadline], GroupCommits],
) -> Callable[[Cluster, Sequence[Action], Deadline], Mapping[Resource, State | Failure]]:
    """Read commits for the partitions of actions."""

    def read_states(
        cluster: Cluster, actions: Sequence[Action], deadline: Deadline
    ) -> Mapping[Resource, State | Failure]:
        items = {action.resource: parse_group_partition(action.resource.name) for action in actions}
        group_ids = [item.group_id for item in items.values()]
        stored = read(cluster, list_groups(cluster, deadline), group_ids, deadline)
        return {resource: stored.of(item) for resource, item in items.items()}

    return read_states


def _send_commits(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    commits = {parse_group_partition(action.resource.name): _wanted(action.after or {}) for action in actions}
    gathered = alter_offsets(cluster, commits, deadline)
    return {group_partition_resource(item): failure for item, failure in gathered.failures.items()}


def _wanted(state: Mapping[str, Any]) -> Commit:
    epoch, metadata = state.get("leader_epoch", UNKNOWN_EPOCH), state.get("metadata", "")
    return Commit(state["committed_offset"], epoch, metadata)


def _forget_commits(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    items = [parse_group_partition(action.resource.name) for action in actions]
    gathered = delete_offsets(cluster, items, deadline)
    return {group_partition_resource(item): failure for item, failure in gathered.failures.items()}


def _send_share_offsets(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    offsets = {parse_group_partition(action.resource.name): (action.after or {})["start_offset"] for action in actions}
    gathered = alter_share_offsets(cluster, offsets, deadline)
    return {share_partition_resource(item): failure for item, failure in gathered.failures.items()}


def _moves(action: Action) -> bool:
    """False if the start offset stays, and records are only delivered again: the state does not show that."""
    return not same_state(action.before, action.after)


def _read_share_topics(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    items = {action.resource: parse_group_topic(action.resource.name) for action in actions}
    group_ids = [item.group_id for item in items.values()]
    offsets = read_share_offsets(cluster, list_groups(cluster, deadline), group_ids, deadline)
    states = share_topic_states(offsets, items.values())
    return {resource: states[item] for resource, item in items.items()}


def _forget_share_topics(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    items = [parse_group_topic(action.resource.name) for action in actions]
    gathered = delete_share_offsets(cluster, items, deadline)
    return {share_topic_resource(item): failure for item, failure in gathered.failures.items()}


def _read_groups(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    listings = list_groups(cluster, deadline)
    return {action.resource: group_state(listings, action.resource.name) for action in actions}


def _delete_groups(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    gathered = delete_groups(cluster, [action.resource.name for action in actions], deadline)
    return {Resource("group", group_id): failure for group_id, failure in gathered.failures.items()}


def _topic_of(resource: Resource) -> str:
    return parse_group_partition(resource.name).topic


ALTER_OFFSETS = ActionKind(
    name="alter_offsets",
    title="commit offset",
    read=_by_partition(read_commits),
    send=_send_commits,
    topic_of=_topic_of,
)
DELETE_OFFSETS = ActionKind(
    name="delete_offsets",
    title="delete committed offset",
    read=_by_partition(read_commits),
    send=_forget_commits,
    topic_of=_topic_of,
)
ALTER_SHARE_OFFSETS = ActionKind(
    name="alter_share_offsets",
    title="set start offset of share group",
    read=_by_partition(read_share_offsets),
    send=_send_share_offsets,
    is_done=lambda action, live: _moves(action) and same_state(live, action.after),
    topic_of=_topic_of,
)
DELETE_SHARE_OFFSETS = ActionKind(
    name="delete_share_offsets",
    title="delete start offsets of share group",
    read=_read_share_topics,
    send=_forget_share_topics,
    topic_of=lambda resource: parse_group_topic(resource.name).topic,
)
DELETE_GROUP = ActionKind(
    name="delete_group",
    title="delete group",
    read=_read_groups,
    send=_delete_groups,
    already=frozenset({GROUP_ID_NOT_FOUND}),
)

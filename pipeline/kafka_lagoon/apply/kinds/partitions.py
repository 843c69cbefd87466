"""Elects leaders of partitions, and deletes their records.

Resource: partition TOPIC-N. Shapes:

- elect_leaders: {leader, preferred, preferred_in_sync} -> {leader, election: "preferred"}, or {leader: null, election:
  "unclean"}, which takes whatever replica lives. Before, a leader is null while there is none. Other replicas may leave the ISR
  and come back between plan and election, as they do while brokers restart.
- delete_records: {log_start_offset} -> {log_start_offset}: the records before it are deleted.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.elections import elect_leaders
from kafka_lagoon.admin.offsets import LOG_START, list_offsets
from kafka_lagoon.admin.topics import delete_records, describe_topics
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State
from kafka_lagoon.apply.kinds.topic_guards import internal_guards
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.elect_leaders import PREFERRED, UNCLEAN
from kafka_lagoon.protocol.messages.metadata import METADATA, NO_LEADER, MetadataPartition
from kafka_lagoon.topic_partition import TopicPartition

_ELECTIONS = {"preferred": PREFERRED, "unclean": UNCLEAN}


def partition_resource(partition: TopicPartition) -> Resource:
    """A partition."""
    return Resource("partition", str(partition))


def partition_of(resource: Resource) -> TopicPartition:
    """The partition that a resource names; names of topics may contain dashes, too."""
    topic, _, number = resource.name.rpartition("-")
    return TopicPartition(topic, int(number))


def topic_of(resource: Resource) -> str:
    """The topic of a partition."""
    return partition_of(resource).topic


def elect_leader(
    partition: TopicPartition, described: MetadataPartition, *, unclean: bool = False, source: str | None = None
) -> Action | None:
    """An election for a partition, given its metadata; None if the election would not change its leader."""
    before = _led(described)
    preferred = before["preferred"]
    if before["leader"] is not None if unclean else preferred in (None, before["leader"]):
        return None
    election = {"leader": None, "election": "unclean"} if unclean else {"leader": preferred, "election": "preferred"}
    return Action(
        kind="elect_leaders",
        resource=partition_resource(partition),
        before=before,
        after=election,
        guards=frozenset({Guard.UNCLEAN_ELECTIONS} if unclean else ()),
        source=source,
    )


def delete_records_before(
    partition: TopicPartition, log_start_offset: int, offset: int, source: str | None = None
) -> Action | None:
    """A deletion of the records before an offset; None if the log starts there already, or later."""
    if offset <= log_start_offset:
        return None
    return Action(
        kind="delete_records",
        resource=partition_resource(partition),
        before={"log_start_offset": log_start_offset},
        after={"log_start_offset": offset},
        guards=frozenset({Guard.RECORD_DELETION}) | internal_guards(partition.topic),
        source=source,
    )


def _led(described: MetadataPartition) -> Mapping[str, object]:
    leader = None if described.leader_id == NO_LEADER else described.leader_id
    preferred = next(iter(described.replica_nodes), None)  # a broker may not know the replicas of a new partition yet
    return {"leader": leader, "preferred": preferred, "preferred_in_sync": preferred in described.isr_nodes}


def describe_partitions(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> Mapping[TopicPartition, MetadataPartition | Failure]:
    """Metadata of each partition; a partition that does not exist is a failure."""
    topics = describe_topics(cluster, sorted({partition.topic for partition in partitions}), deadline)
    known = {
        TopicPartition(name, one.partition_index): one
        for name, topic in topics.items()
        if topic and not isinstance(topic, Failure)
        for one in topic.partitions
    }
    described: dict[TopicPartition, MetadataPartition | Failure] = {}
    for partition in partitions:
        topic = topics[partition.topic]
        if isinstance(topic, Failure):
            described[partition] = topic
        elif partition in known:
            described[partition] = known[partition]
        else:
            described[partition] = failure_of(METADATA, Scope.of_partition(*partition), UNKNOWN_TOPIC_OR_PARTITION)
    return described


def _read_leaders(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    described = describe_partitions(cluster, [partition_of(action.resource) for action in actions], deadline)
    return {
        partition_resource(partition): known if isinstance(known, Failure) else _led(known)
        for partition, known in described.items()
    }


def _is_elected(action: Action, live: State) -> bool:
    """True if the partition has the leader that was asked for: for an unclean election, any leader."""
    if live is None or action.after is None:
        return False
    wanted = action.after["leader"]
    return live["leader"] is not None if wanted is None else live["leader"] == wanted


def _elect(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    failures: dict[TopicPartition, Failure] = {}
    for name, election_type in _ELECTIONS.items():
        some = [partition_of(action.resource) for action in actions if (action.after or {})["election"] == name]
        if some:
            failures |= elect_leaders(cluster, some, election_type, deadline)
    return of_partitions(failures)


def of_partitions(failures: Mapping[TopicPartition, Failure]) -> Mapping[Resource, Failure]:
    """Failures by resource."""
    return {partition_resource(partition): failure for partition, failure in failures.items()}


def log_start_offsets(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> Mapping[TopicPartition, int | Failure]:
    """The log start offset of each partition, from its leader, which is looked up first."""
    described = describe_partitions(cluster, partitions, deadline)
    starts: dict[TopicPartition, int | Failure] = {
        partition: known for partition, known in described.items() if isinstance(known, Failure)
    }
    listed = list_offsets(cluster, [one for one in partitions if one not in starts], [LOG_START], deadline)[LOG_START]
    starts |= {partition: listed.answers[partition].offset for partition in listed.answers}
    return {**starts, **listed.failures}


def _read_starts(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    starts = log_start_offsets(cluster, [partition_of(action.resource) for action in actions], deadline)
    return {
        partition_resource(partition): start if isinstance(start, Failure) else {"log_start_offset": start}
        for partition, start in starts.items()
    }


def _is_deleted(action: Action, live: State) -> bool:
    """True if the log starts there, or later: retention may have deleted more."""
    return (
        live is not None and action.after is not None and live["log_start_offset"] >= action.after["log_start_offset"]
    )


def _delete(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    offsets = {partition_of(action.resource): (action.after or {})["log_start_offset"] for action in actions}
    return of_partitions(delete_records(cluster, offsets, deadline))


ELECT_LEADERS = ActionKind(
    name="elect_leaders",
    title="elect leader of",
    read=_read_leaders,
    send=_elect,
    is_done=_is_elected,
    topic_of=topic_of,
)
DELETE_RECORDS = ActionKind(
    name="delete_records",
    title="delete records of",
    read=_read_starts,
    send=_delete,
    is_done=_is_deleted,
    topic_of=topic_of,
)

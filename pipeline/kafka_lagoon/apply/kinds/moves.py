"""Moves partitions to other brokers, calls such moves off, and moves replicas between directories of a broker.

Resources: partition TOPIC-N, and replica "TOPIC-N on broker B". Shapes:

- reassign_partition: {replicas} -> {replicas}. While another move is under way, before also has adding and removing, and
  replicas are those of now.
- cancel_reassignment: {replicas, adding, removing} -> {replicas}.
- move_replica: {log_dir} -> {log_dir}. While another move is under way, before also has future_log_dir.

A move is done when it has begun: copying may take hours, and `lagoon kafka` shows how far it is.
"""

import re
from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.log_dirs import Replica, ReplicaPlace, move_replicas, replica_places
from kafka_lagoon.admin.reassignments import alter_reassignments, list_reassignments
from kafka_lagoon.apply.action import Action, ActionKind, Resource, State
from kafka_lagoon.apply.kinds.partitions import (
    describe_partitions,
    of_partitions,
    partition_of,
    partition_resource,
    topic_of,
)
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import NO_REASSIGNMENT_IN_PROGRESS
from kafka_lagoon.topic_partition import TopicPartition

_REPLICA = re.compile(r"(.+)-(\d+) on broker (\d+)")


def replica_resource(replica: Replica) -> Resource:
    """A replica of a partition."""
    return Resource("replica", f"{replica.topic}-{replica.partition} on broker {replica.broker_id}")


def replica_of(resource: Resource) -> Replica:
    """The replica that a resource names."""
    match = _REPLICA.fullmatch(resource.name)
    if match is None:
        raise ValueError(resource.name)
    return Replica(match[1], int(match[2]), int(match[3]))


def placements(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> Mapping[TopicPartition, Mapping[str, Sequence[int]] | Failure]:
    """{replicas} of each partition, and {adding, removing} of a partition that is being moved."""
    described = describe_partitions(cluster, partitions, deadline)
    listed = list_reassignments(cluster, deadline)
    if isinstance(listed, Failure) and not listed.is_too_old:  # before Kafka 2.4 clients cannot move partitions
        return {partition: known if isinstance(known, Failure) else listed for partition, known in described.items()}
    moving = {
        TopicPartition(topic.name, one.partition_index): {
            "replicas": list(one.replicas),
            "adding": list(one.adding_replicas),
            "removing": list(one.removing_replicas),
        }
        for topic in (() if isinstance(listed, Failure) else listed.topics)
        for one in topic.partitions
    }
    return {
        partition: known
        if isinstance(known, Failure)
        else moving.get(partition, {"replicas": list(known.replica_nodes)})
        for partition, known in described.items()
    }


def reassign(
    partition: TopicPartition,
    placement: Mapping[str, Sequence[int]],
    replicas: Sequence[int],
    source: str | None = None,
) -> Action | None:
    """Move a partition to these brokers, the preferred leader first; None if it is there, or on its way."""
    if _target(placement) == list(replicas):
        return None
    return Action(
        kind="reassign_partition",
        resource=partition_resource(partition),
        before=placement,
        after={"replicas": list(replicas)},
        source=source,
    )


def cancel(
    partition: TopicPartition, placement: Mapping[str, Sequence[int]], source: str | None = None
) -> Action | None:
    """Cancel the move of a partition; None if it is not being moved."""
    if not _is_moving(placement):
        return None
    stays = [broker_id for broker_id in placement["replicas"] if broker_id not in placement["adding"]]
    return Action(
        kind="cancel_reassignment",
        resource=partition_resource(partition),
        before=placement,
        after={"replicas": stays},
        source=source,
    )


def move_replica(replica: Replica, place: ReplicaPlace, log_dir: str, source: str | None = None) -> Action | None:
    """Move a replica to another directory of its broker; None if it is there, or on its way."""
    if (place.future_log_dir or place.log_dir) == log_dir:
        return None
    return Action(
        kind="move_replica",
        resource=replica_resource(replica),
        before=_of_place(place),
        after={"log_dir": log_dir},
        source=source,
    )


def _is_moving(placement: Mapping[str, Sequence[int]]) -> bool:
    return bool(placement.get("adding") or placement.get("removing"))


def _target(placement: Mapping[str, Sequence[int]]) -> list[int]:
    """The replicas after the move: they are in the order of the target, and removed replicas come last."""
    return [broker_id for broker_id in placement["replicas"] if broker_id not in placement.get("removing", ())]


def _of_place(place: ReplicaPlace) -> Mapping[str, str | None]:
    if place.future_log_dir is None:
        return {"log_dir": place.log_dir}
    return {"log_dir": place.log_dir, "future_log_dir": place.future_log_dir}


def _read_placements(
    cluster: Cluster, actions: Sequence[Action], deadline: Deadline
) -> Mapping[Resource, State | Failure]:
    known = placements(cluster, [partition_of(action.resource) for action in actions], deadline)
    return {partition_resource(partition): state for partition, state in known.items()}


def _is_reassigned(action: Action, live: State) -> bool:
    """True if the partition is there, or on its way."""
    return live is not None and action.after is not None and _target(live) == list(action.after["replicas"])


def _reassign(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    targets = {partition_of(action.resource): (action.after or {})["replicas"] for action in actions}
    mixed = [partition_of(action.resource) for action in actions if _would_be_mixed(action)]
    failures = _call_off(cluster, mixed, deadline) if mixed else {}
    others = {partition: replicas for partition, replicas in targets.items() if partition not in failures}
    return of_partitions({**failures, **alter_reassignments(cluster, others, deadline)})


def _would_be_mixed(action: Action) -> bool:
    """True if KRaft would mix the move with the one under way, which is called off first.

    A controller keeps the replicas that are being added unless the altered move adds some, too, and likewise those that are
    being removed. So it removes what the altered move keeps, or waits for ever for a replica that it leaves out.
    """
    before, after = action.before or {}, set((action.after or {})["replicas"])
    now = set(before.get("replicas", ()))
    added = set(before.get("adding", ())) if after <= now else set()
    removed = set(before.get("removing", ())) if now <= after else set()
    return bool(added - after or removed & after)


def _call_off(
    cluster: Cluster, partitions: Sequence[TopicPartition], deadline: Deadline
) -> Mapping[TopicPartition, Failure]:
    """Cancel moves; one that was completed meanwhile is no failure."""
    failures = alter_reassignments(cluster, dict.fromkeys(partitions), deadline)
    return {
        partition: failure for partition, failure in failures.items() if failure.code != NO_REASSIGNMENT_IN_PROGRESS
    }


def _is_cancelled(action: Action, live: State) -> bool:
    """True if the partition stays where it was: a move that was completed meanwhile is not cancelled."""
    if live is None or action.after is None or _is_moving(live):
        return False
    return sorted(live["replicas"]) == sorted(action.after["replicas"])


def _cancel(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    return of_partitions(
        alter_reassignments(cluster, dict.fromkeys(partition_of(action.resource) for action in actions), deadline)
    )


def _read_places(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> Mapping[Resource, State | Failure]:
    gathered = replica_places(cluster, [replica_of(action.resource) for action in actions], deadline)
    known: dict[Resource, State | Failure] = {
        replica_resource(replica): _of_place(place) for replica, place in gathered.answers.items()
    }
    return {**known, **{replica_resource(replica): failure for replica, failure in gathered.failures.items()}}


def _is_moved(action: Action, live: State) -> bool:
    """True if the replica is in its new directory, or on its way; a replica on its way to another one does not stay."""
    if live is None or action.after is None:
        return False
    log_dir: str | None = live.get("future_log_dir") or live["log_dir"]
    wanted: str = action.after["log_dir"]
    return log_dir == wanted


def _move(
    cluster: Cluster, actions: Sequence[Action], _validate_only: bool, deadline: Deadline
) -> Mapping[Resource, Failure]:
    targets = {replica_of(action.resource): (action.after or {})["log_dir"] for action in actions}
    failures = move_replicas(cluster, targets, deadline)
    return {replica_resource(replica): failure for replica, failure in failures.items()}


REASSIGN_PARTITION = ActionKind(
    name="reassign_partition",
    title="move",
    read=_read_placements,
    send=_reassign,
    is_done=_is_reassigned,
    topic_of=topic_of,
)
CANCEL_REASSIGNMENT = ActionKind(
    name="cancel_reassignment",
    title="call off the move of",
    read=_read_placements,
    send=_cancel,
    is_done=_is_cancelled,
    already=frozenset({NO_REASSIGNMENT_IN_PROGRESS}),
    topic_of=topic_of,
)
MOVE_REPLICA = ActionKind(
    name="move_replica",
    title="move",
    read=_read_places,
    send=_move,
    is_done=_is_moved,
    topic_of=lambda replica: replica_of(replica).topic,
)

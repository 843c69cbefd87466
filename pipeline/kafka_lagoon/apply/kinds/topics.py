"""Creates, extends and deletes topics.

Resource: topic NAME. Shapes:

- create_topic: None -> {partitions, replication_factor} or {assignments: {"0": [1, 2]}}, and configs {name: value} if any. A
  number that is null is left to the broker (KIP-464).
- delete_topic: {topic_id, partitions, replication_factor} -> None. The id is null where brokers give none (before Kafka 2.8).
- create_partitions: {partitions} -> {partitions}, the total, and assignments of the new ones if any: {"6": [2, 3]}.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_lagoon.admin.config_values import ConfigResource, config_values
from kafka_lagoon.admin.topics import create_partitions, create_topics, delete_topics, describe_topics
from kafka_lagoon.apply.action import Action, ActionKind, Guard, Resource, State
from kafka_lagoon.apply.config_texts import may_be_same
from kafka_lagoon.apply.kinds.topic_guards import internal_guards, partition_guards
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import (
    INVALID_PARTITIONS,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from kafka_lagoon.protocol.messages.create_partitions import CreatePartitionsAssignment, CreatePartitionsTopic
from kafka_lagoon.protocol.messages.create_topics import (
    BROKER_DEFAULT,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.wire.primitives import uuid_text

Assignments = Mapping[int, Sequence[int]]
States = Mapping[Resource, State | Failure]


def topic_resource(name: str) -> Resource:
    """A topic."""
    return Resource("topic", name)


def create_topic(
    name: str,
    *,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignments: Assignments | None = None,
    configs: Mapping[str, str] | None = None,
    source: str | None = None,
) -> Action:
    """Create a topic, with replicas placed by the controller or by hand."""
    after: dict[str, Any] = {"partitions": partitions, "replication_factor": replication_factor}
    if assignments:
        after = {"assignments": _as_json(assignments)}
    if configs:
        after["configs"] = dict(configs)
    return Action(
        kind="create_topic",
        resource=topic_resource(name),
        before=None,
        after=after,
        guards=partition_guards(len(assignments) if assignments else partitions or 0),
        source=source,
    )


def delete_topic(topic: MetadataTopic, source: str | None = None) -> Action:
    """Delete a topic, given its metadata."""
    return Action(
        kind="delete_topic",
        resource=topic_resource(topic.name or ""),
        before=_identity(topic),
        after=None,
        guards=frozenset({Guard.DELETIONS}) | internal_guards(topic.name or ""),
        source=source,
    )


def extend_topic(
    name: str, before: int, partitions: int, assignments: Assignments | None = None, source: str | None = None
) -> Action:
    """Extend a topic to a total number of partitions."""
    after = {"partitions": partitions, **({"assignments": _as_json(assignments)} if assignments else {})}
    return Action(
        kind="create_partitions",
        resource=topic_resource(name),
        before={"partitions": before},
        after=after,
        guards=partition_guards(partitions - before) | internal_guards(name),
        source=source,
    )


def _as_json(assignments: Assignments) -> dict[str, list[int]]:
    return {str(partition): list(brokers) for partition, brokers in sorted(assignments.items())}


def _read(
    cluster: Cluster,
    actions: Sequence[Action],
    deadline: Deadline,
    state: Callable[[MetadataTopic], State],
    missing: Callable[[str], State | Failure] = lambda _: None,
) -> dict[Resource, State | Failure]:
    topics = describe_topics(cluster, [action.resource.name for action in actions], deadline)
    states: dict[Resource, State | Failure] = {}
    for action in actions:
        topic = topics[action.resource.name]
        if topic is None:
            states[action.resource] = missing(action.resource.name)
        else:
            states[action.resource] = topic if isinstance(topic, Failure) else state(topic)
    return states


def _read_created(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> States:
    """Read the topics that exist, with their set configs where an action sets configs."""
    states = _read(cluster, actions, deadline, _placed)
    with_configs = [
        action.resource
        for action in actions
        if (action.after or {}).get("configs") and isinstance(states[action.resource], Mapping)
    ]
    resources = {ConfigResource(TOPIC, resource.name): resource for resource in with_configs}
    for config_resource, values in config_values(cluster, list(resources), deadline).items():
        resource = resources[config_resource]
        topic = states[resource]
        if isinstance(values, Failure):
            states[resource] = values
        elif isinstance(topic, Mapping):
            own = {name: value.own for name, value in values.items() if value.own is not None}
            states[resource] = {**topic, "configs": own}
    return states


def _placed(topic: MetadataTopic) -> State:
    """Everything that a topic can have been created with."""
    replicas = {partition.partition_index: partition.replica_nodes for partition in topic.partitions}
    return {**(_identity(topic) or {}), "assignments": _as_json(replicas)}


def _identity(topic: MetadataTopic) -> State:
    return {
        "topic_id": uuid_text(topic.topic_id),
        "partitions": len(topic.partitions),
        "replication_factor": max((len(one.replica_nodes) for one in topic.partitions), default=None),
    }


def _is_created(action: Action, live: State) -> bool:
    """True if the topic exists with everything that was asked for: another topic of this name may have been created."""
    if live is None or action.after is None:
        return False
    wanted = {name: value for name, value in action.after.items() if value is not None}
    configs = wanted.pop("configs", {})
    own = live.get("configs", {})
    has_configs = all(may_be_same(name, own.get(name), value) for name, value in configs.items())
    return has_configs and all(live[name] == value for name, value in wanted.items())


def _create(
    cluster: Cluster,
    actions: Sequence[Action],
    validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    topics = [_creatable(action) for action in actions]
    return _of_topics(create_topics(cluster, topics, deadline, validate_only=validate_only))


def _creatable(action: Action) -> CreatableTopic:
    wanted = action.after or {}
    placed = wanted.get("assignments", {})
    partitions, factor = wanted.get("partitions"), wanted.get("replication_factor")
    return CreatableTopic(
        name=action.resource.name,
        num_partitions=BROKER_DEFAULT if partitions is None else partitions,
        replication_factor=BROKER_DEFAULT if factor is None else factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=int(partition), broker_ids=tuple(brokers))
            for partition, brokers in placed.items()
        ),
        configs=tuple(
            CreatableTopicConfig(name=name, value=value) for name, value in wanted.get("configs", {}).items()
        ),
    )


def _of_topics(failures: Mapping[str, Failure]) -> Mapping[Resource, Failure]:
    return {topic_resource(name): failure for name, failure in failures.items()}


def _read_deleted(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> States:
    return _read(cluster, actions, deadline, _identity)


def _is_deleted(action: Action, live: State) -> bool:
    """True also if another topic of this name was created since. Brokers before Kafka 2.8 give no ids, which shows nothing."""
    if live is None or action.before is None:
        return live is None
    ids = live["topic_id"], action.before["topic_id"]
    return None not in ids and ids[0] != ids[1]


def _delete(
    cluster: Cluster,
    actions: Sequence[Action],
    _validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    ids = {action.resource.name: (action.before or {}).get("topic_id") for action in actions}
    return _of_topics(delete_topics(cluster, ids, deadline))


def _read_extended(cluster: Cluster, actions: Sequence[Action], deadline: Deadline) -> States:
    def missing(name: str) -> Failure:
        return failure_of(METADATA, Scope.of_topic(name), UNKNOWN_TOPIC_OR_PARTITION)

    return _read(cluster, actions, deadline, lambda topic: {"partitions": len(topic.partitions)}, missing)


def _is_extended(action: Action, live: State) -> bool:
    return live is not None and action.after is not None and live["partitions"] == action.after["partitions"]


def _extend(
    cluster: Cluster,
    actions: Sequence[Action],
    validate_only: bool,
    deadline: Deadline,
) -> Mapping[Resource, Failure]:
    topics = [_extended(action) for action in actions]
    return _of_topics(create_partitions(cluster, topics, deadline, validate_only=validate_only))


def _extended(action: Action) -> CreatePartitionsTopic:
    wanted = action.after or {}
    placed = sorted((int(partition), brokers) for partition, brokers in wanted.get("assignments", {}).items())
    assignments = tuple(CreatePartitionsAssignment(broker_ids=tuple(brokers)) for _, brokers in placed)
    return CreatePartitionsTopic(name=action.resource.name, count=wanted["partitions"], assignments=assignments or None)


CREATE_TOPIC = ActionKind(
    name="create_topic",
    title="create topic",
    read=_read_created,
    send=_create,
    can_validate=True,
    is_done=_is_created,
    already=frozenset({TOPIC_ALREADY_EXISTS}),
)
DELETE_TOPIC = ActionKind(
    name="delete_topic",
    title="delete topic",
    read=_read_deleted,
    send=_delete,
    is_done=_is_deleted,
    already=frozenset({UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION}),
)
EXTEND_TOPIC = ActionKind(
    name="create_partitions",
    title="create partitions of topic",
    read=_read_extended,
    send=_extend,
    can_validate=True,
    is_done=_is_extended,
    already=frozenset({INVALID_PARTITIONS}),
    topic_of=lambda topic: topic.name,
)

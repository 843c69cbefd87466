"""Reads the parts of a cluster that a desired state is about.

Failures stand beside what could be read: a plan with failures may not be carried out.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field

from kafka_lagoon.admin.acls import AclFilter, acls_of, describe_acls, in_words
from kafka_lagoon.admin.brokers import registered_brokers
from kafka_lagoon.admin.config_values import ConfigValue, Values, config_values
from kafka_lagoon.admin.configs import have_group_configs, resources_with_configs
from kafka_lagoon.admin.features import FeatureLevels, feature_levels
from kafka_lagoon.admin.groups import CLASSIC, described_as, list_groups
from kafka_lagoon.admin.quotas import describe_client_quotas
from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.admin.scram import describe_scram_users, undescribed_users
from kafka_lagoon.admin.topics import describe_topics
from kafka_lagoon.apply.action import Resource
from kafka_lagoon.apply.desired.resources import Acl, ScramUser
from kafka_lagoon.apply.kinds.configs import config_resource
from kafka_lagoon.apply.kinds.names import DEFAULT, quota_name
from kafka_lagoon.apply.kinds.quotas import quotas_of
from kafka_lagoon.apply.live import Live, LivePartition, LiveTopic
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.describe_configs import CLIENT_METRICS, DESCRIBE_CONFIGS, GROUP
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import SCRAM_MECHANISMS
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataPartition, MetadataTopic
from kafka_lagoon.tables.row_classes import named

_INT, _LONG, _LIST = 3, 5, 7  # of CONFIG_TYPES in protocol/messages/describe_configs.py
# Brokers before Kafka 4 describe only the keys of a subscription that are set, and none of one that does not exist.
_OF_CLIENT_METRICS: Values = {
    name: ConfigValue(own=None, inherited=None, is_sensitive=False, is_read_only=False, config_type=config_type)
    for name, config_type in (("interval.ms", _INT), ("metrics", _LIST), ("match", _LIST))
}
# The configs that can only be set dynamically. Brokers list them only where they are set, and Kafka 3 lists them as read-only.
_OF_BROKERS: Values = {
    name: ConfigValue(own=None, inherited=None, is_sensitive=False, is_read_only=False, config_type=_LONG)
    for name in (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
}


@frozen
class Wanted:
    """The parts to read. `configs` are names by resource type; None means all that have configs of their own, and `named`.

    Of `brokers` that neither run nor have replicas it is read if they are registered.
    """

    configs: Mapping[str, Collection[str] | None] = field(default_factory=dict)
    named: Mapping[str, Collection[str]] = field(default_factory=dict)
    acls: bool = False
    quotas: bool = False
    scram_users: bool = False
    features: bool = False
    brokers: Collection[int] = ()
    reassignments: Callable[[Mapping[str, LiveTopic]], bool] = lambda _: False
    is_about: Callable[[str], bool] = lambda _: False  # topics that are planned if they exist


def read_live(cluster: Cluster, wanted: Wanted, deadline: Deadline) -> Live:
    """Read the requested parts of the cluster, with its brokers and topics."""
    failures: list[Failure] = []
    metadata = agreed_metadata(cluster, None, deadline)
    topics = {topic.name: _live_topic(topic) for topic in metadata.topics if topic.name and not topic.error_code}
    named = wanted.configs.get("topic", ())
    missing = set(named or ()) - set(topics)
    hidden = _hidden(cluster, missing, deadline)
    hidden |= {
        name: failure
        for name, failure in _undescribed(metadata.topics)
        if name not in hidden and (named is None or name in missing or wanted.is_about(name))
    }
    failures += hidden.values()
    if wanted.reassignments(topics):
        topics = _moving(cluster, topics, failures, deadline)
    racks = {broker.node_id: broker.rack for broker in metadata.brokers}
    used = _used(topics)
    is_asked = set(wanted.brokers) - set(racks) - used or "broker" in wanted.configs
    registered = _registered(cluster, failures, deadline) if is_asked else ()
    down = frozenset({*registered, *used} - set(racks))
    if wanted.configs.get("broker", ()) is None:
        failures += map(_not_running, sorted(down))
    configs, known = _configs(cluster, wanted, topics, failures, deadline)
    return Live(
        cluster_id=metadata.cluster_id,
        racks=racks,
        down=down,
        topics=topics,
        hidden_topics=frozenset(hidden),
        configs=configs,
        known_configs=known,
        acls=_acls(cluster, failures, deadline) if wanted.acls else None,
        quotas=_quotas(cluster, failures, deadline) if wanted.quotas else None,
        scram_users=_scram_users(cluster, failures, deadline) if wanted.scram_users else None,
        features=_features(cluster, failures, deadline) if wanted.features else None,
        failures=failures,
    )


def _hidden(cluster: Cluster, names: Collection[str], deadline: Deadline) -> dict[str, Failure]:
    """Topics that are not listed and may exist: this principal may not describe them, or brokers could not just now."""
    described = describe_topics(cluster, sorted(names), deadline)
    return {name: failure for name, failure in described.items() if isinstance(failure, Failure)}


def _undescribed(topics: Iterable[MetadataTopic]) -> Iterator[tuple[str, Failure]]:
    """Listed topics that brokers could not describe; one that was deleted just now is no longer there."""
    for topic in topics:
        if topic.name and topic.error_code not in (0, UNKNOWN_TOPIC_OR_PARTITION):
            yield topic.name, failure_of(METADATA, Scope.of_topic(topic.name), topic.error_code)


def _registered(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> Collection[int]:
    """Brokers that are registered, also those that do not run, which the metadata leaves out."""
    registered = registered_brokers(cluster, deadline)
    if isinstance(registered, Failure):
        failures.append(registered)
        return ()
    return registered or ()


def _used(topics: Mapping[str, LiveTopic]) -> set[int]:
    """The brokers that have replicas."""
    return {one for topic in topics.values() for partition in topic.partitions.values() for one in partition.replicas}


def _not_running(broker_id: int) -> Failure:
    text = "the broker does not run, so its configs are not read"
    return own_failure(DESCRIBE_CONFIGS, Scope.broker(broker_id), "BROKER_NOT_AVAILABLE", text)


def _live_topic(topic: MetadataTopic) -> LiveTopic:
    return LiveTopic(
        metadata=topic,
        partitions={one.partition_index: _live_partition(one) for one in sorted(topic.partitions, key=_index)},
    )


def _index(partition: MetadataPartition) -> int:
    return partition.partition_index


def _live_partition(partition: MetadataPartition) -> LivePartition:
    leader_id = partition.leader_id if partition.leader_id >= 0 else None
    return LivePartition(replicas=partition.replica_nodes, isr=partition.isr_nodes, leader_id=leader_id)


def _moving(
    cluster: Cluster, topics: Mapping[str, LiveTopic], failures: list[Failure], deadline: Deadline
) -> dict[str, LiveTopic]:
    """Add the moves of partitions to topics."""
    moves = list_reassignments(cluster, deadline)
    moved = dict(topics)
    if isinstance(moves, Failure):
        failures.append(moves)
        return moved
    for topic in moves.topics:
        if topic.name not in moved:
            continue
        known = moved[topic.name]
        partitions = dict(known.partitions)
        for move in topic.partitions:
            before = partitions.get(move.partition_index)
            if before is None:  # it was added after the metadata was read
                continue
            partitions[move.partition_index] = LivePartition(
                replicas=move.replicas,
                isr=before.isr,
                leader_id=before.leader_id,
                adding=move.adding_replicas,
                removing=move.removing_replicas,
            )
        moved[topic.name] = LiveTopic(metadata=known.metadata, partitions=partitions)
    return moved


def _configs(
    cluster: Cluster,
    wanted: Wanted,
    topics: Mapping[str, LiveTopic],
    failures: list[Failure],
    deadline: Deadline,
) -> tuple[dict[str, dict[str, Values]], dict[str, Values]]:
    """Configs by resource type and name; and per type those of any resource, for the names of configs."""
    configs: dict[str, dict[str, Values]] = {}
    known: dict[str, Values] = {}
    for resource_type, names in _names(cluster, wanted, topics, failures, deadline).items():
        samples, chosen = _samples(cluster, resource_type, names, topics), frozenset(names)
        resources = {config_resource(Resource(resource_type, name)): name for name in [*names, *samples]}
        described: dict[str, Values] = {}
        for resource, values in config_values(cluster, list(resources), deadline).items():
            if isinstance(values, Failure):
                failures += [values] if resources[resource] in chosen else []
            else:
                described[resources[resource]] = values
        configs[resource_type] = {name: values for name, values in described.items() if name in chosen}
        known[resource_type] = {key: value for values in described.values() for key, value in values.items()}
        if resource_type == "client_metrics":
            known[resource_type] = {**known[resource_type], **_OF_CLIENT_METRICS}
        if resource_type == "broker" and described:
            known[resource_type] = {**known[resource_type], **_OF_BROKERS}
    return configs, known


def _names(
    cluster: Cluster, wanted: Wanted, topics: Mapping[str, LiveTopic], failures: list[Failure], deadline: Deadline
) -> dict[str, list[str]]:
    """The resources to describe: of named topics and brokers, those that exist."""
    there = {"topic": list(topics), "broker": [DEFAULT, *map(str, sorted(cluster.brokers))]}
    if any(wanted.configs.get(name, ()) is None for name in ("group", "client_metrics")):
        there |= _with_configs(cluster, failures, deadline)
    chosen: dict[str, list[str]] = {}
    for resource_type, names in wanted.configs.items():
        known = there.get(resource_type, [])
        if resource_type in ("topic", "broker"):
            wanted_names = frozenset(known if names is None else names)
            chosen[resource_type] = [name for name in known if name in wanted_names]
        else:
            named = wanted.named.get(resource_type, ()) if names is None else names
            chosen[resource_type] = sorted({*named, *(known if names is None else ())})
    return chosen


def _with_configs(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> dict[str, list[str]]:
    listed = resources_with_configs(cluster, deadline)
    if isinstance(listed, Failure):
        failures.append(listed)
        return {}
    groups = listed[GROUP] if GROUP in listed else _newer_groups(cluster, failures, deadline)
    return {"group": list(groups), "client_metrics": list(listed.get(CLIENT_METRICS, ()))}


def _newer_groups(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> list[str]:
    """Groups that may have configs, where brokers cannot list those that do (Kafka 4.0): all but classic ones."""
    if not have_group_configs(cluster):
        return []
    listings = list_groups(cluster, deadline)
    failures += listings.failures
    return sorted(group_id for group_id, one in listings.groups.items() if described_as(one) != CLASSIC)


def _samples(
    cluster: Cluster, resource_type: str, names: Collection[str], topics: Mapping[str, LiveTopic]
) -> list[str]:
    """A resource to describe for the names and types of configs, if none of the described ones lists all of them.

    <default> of brokers lists only the configs that are set. Groups need no sample, because brokers describe also groups that
    do not exist. Nor do subscriptions of client metrics, which have three known configs.
    """
    if resource_type == "broker":
        return [] if set(names) - {DEFAULT} else [str(broker_id) for broker_id in sorted(cluster.brokers)[:1]]
    return list(topics)[:1] if resource_type == "topic" and not names else []


def _acls(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> frozenset[Acl] | None:
    response = describe_acls(cluster, AclFilter(), deadline)
    if isinstance(response, Failure):
        failures.append(response)
        return None
    return frozenset(Acl(**in_words(acl)) for acl in acls_of(response))


def _quotas(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> dict[str, dict[str, float]] | None:
    entries = describe_client_quotas(cluster, deadline)
    if isinstance(entries, Failure):
        failures.append(entries)
        return None
    return {quota_name(entity): limits for entity, limits in quotas_of(entries).items()}


def _scram_users(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> dict[ScramUser, int] | None:
    users = describe_scram_users(cluster, deadline)
    if isinstance(users, Failure):
        failures.append(users)
        return None
    failures += undescribed_users(users).values()
    return {
        ScramUser(user.user, named(SCRAM_MECHANISMS, info.mechanism)): info.iterations
        for user in users
        if not user.error_code
        for info in user.credential_infos
    }


def _features(cluster: Cluster, failures: list[Failure], deadline: Deadline) -> Mapping[str, FeatureLevels] | None:
    levels = feature_levels(cluster, deadline)
    if isinstance(levels, Failure):
        failures.append(levels)
        return None
    return levels

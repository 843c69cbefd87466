"""A cluster as it is, as far as it was read: the state that a desired state is compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.config_values import ConfigValue, Values, without_listener
from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.desired.resources import Acl, ScramUser
from kafka_lagoon.apply.kinds.topic_guards import is_internal_name
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from kafka_lagoon.topic_partition import TopicPartition


@frozen
class LivePartition:
    """A partition; `adding` and `removing` are not empty while it is moved."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_id: int | None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def placement(self) -> dict[str, list[int]]:
        """The state of its moves, as actions have it."""
        moving = {"adding": list(self.adding), "removing": list(self.removing)}
        return {"replicas": list(self.replicas)} | (moving if self.adding or self.removing else {})

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after moves that are under way."""
        return tuple(broker_id for broker_id in self.replicas if broker_id not in self.removing)


@frozen
class LiveTopic:
    """A topic as metadata shows it."""

    metadata: MetadataTopic
    partitions: Mapping[int, LivePartition]

    @property
    def is_internal(self) -> bool:
        """True if brokers keep their own data in it."""
        return self.metadata.is_internal or is_internal_name(self.metadata.name or "")

    @property
    def replication_factor(self) -> int | None:
        """The number of replicas that each partition has or will have; None if they differ."""
        factors = {len(partition.target) for partition in self.partitions.values()}
        return factors.pop() if len(factors) == 1 else None


@frozen
class Live:
    """A cluster as it is, as far as it was read. `known_configs` are names and types by resource type.

    `racks` has the brokers that run, `down` those that do not and have replicas, or are registered, if that was read.
    `configs` is by resource type and name, without those that could not be read. ACLs, quotas, users and features are None
    if they were not read. `hidden_topics` may be there, and nothing is known of them.
    """

    cluster_id: str | None
    racks: Mapping[int, str | None]
    down: frozenset[int]
    topics: Mapping[str, LiveTopic]
    hidden_topics: frozenset[str]
    configs: Mapping[str, Mapping[str, Values]]
    known_configs: Mapping[str, Values]
    acls: frozenset[Acl] | None
    quotas: Mapping[str, Mapping[str, float]] | None
    scram_users: Mapping[ScramUser, int] | None
    features: Mapping[str, FeatureLevels] | None
    failures: Sequence[Failure]

    @property
    def knows_brokers(self) -> bool:
        """False if the registered brokers could not be read: one that is in neither `racks` nor `down` may be one of them."""
        return all(failure.api != DESCRIBE_CLUSTER.name for failure in self.failures)

    def values(self, resource_type: str, name: str) -> Values:
        """Configs of a resource; none if it does not exist or was not read."""
        return self.configs.get(resource_type, {}).get(name, {})

    def own_configs(self, resource_type: str, name: str) -> dict[str, str]:
        """Configs that are set on the resource itself."""
        values = self.values(resource_type, name)
        return {key: value.own for key, value in sorted(values.items()) if value.own is not None}

    def known(self, resource_type: str, key: str) -> ConfigValue | None:
        """The name and type of a config on any resource of the type; None if brokers do not list it.

        Brokers list a config with the prefix of a listener only where it is set, and then wrongly as read-only: whether it is
        read-only is taken from the config without the prefix.
        """
        known, base = self.known_configs.get(resource_type, {}), without_listener(key)
        value, without_prefix = known.get(key), known.get(base)
        if value is None or key == base:
            return value or without_prefix
        return replace(value, is_read_only=without_prefix is not None and without_prefix.is_read_only)

    def partition(self, partition: TopicPartition) -> LivePartition | None:
        """A partition; None if it does not exist."""
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

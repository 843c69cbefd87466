"""Describes the topics to write to: ids, partitions, leaders, and the largest batch that they take."""

from collections.abc import Collection, Mapping

from kafka_lagoon.admin.configs import describe_configs
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.describe_configs import TOPIC
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.topic_partition import TopicPartition

_LARGEST = "max.message.bytes"


@frozen
class TargetTopic:
    """A description of a topic. `max_batch_bytes` is None if we may not describe its configs."""

    topic: str
    topic_id: bytes
    partitions: int
    max_batch_bytes: int | None

    def available(self, cluster: Cluster) -> list[int]:
        """The partitions that have a leader now, as far as the cluster knows."""
        some = (TopicPartition(self.topic, partition) for partition in range(self.partitions))
        return [one.partition for one in some if cluster.leader_of(one) is not None]


def describe_targets(cluster: Cluster, topics: Collection[str], deadline: Deadline) -> dict[str, TargetTopic]:
    """The topics by name; BrokerError if one cannot be described. Afterwards the cluster knows their leaders.

    A topic that a broker denies exists if another one describes it: brokers learn new topics late.
    """
    largest = _largest_batches(cluster, sorted(topics), deadline)
    targets = {}
    for metadata in _described(cluster, topics, deadline).topics:
        name = str(metadata.name)
        if not metadata.partitions:
            raise BrokerError(metadata.error_code, error_code(metadata.error_code).name, METADATA.name, name)
        targets[name] = TargetTopic(
            topic=name,
            topic_id=metadata.topic_id,
            partitions=len(metadata.partitions),
            max_batch_bytes=largest.get(name),
        )
    return targets


def _described(cluster: Cluster, topics: Collection[str], deadline: Deadline) -> MetadataResponse:
    """The metadata of a broker that knows all of the topics, or of the last broker if none does."""
    answer, requests = cluster.refresh(topics, deadline), 1
    addresses = {cluster.answered_by}
    while requests < len(cluster.brokers) and any(
        one.error_code == UNKNOWN_TOPIC_OR_PARTITION for one in answer.topics
    ):
        answer, requests = cluster.refresh(topics, deadline, addresses), requests + 1
        addresses.add(cluster.answered_by)
    return answer


def _largest_batches(cluster: Cluster, topics: list[str], deadline: Deadline) -> Mapping[str, int]:
    """The values of max.message.bytes that may be read."""
    results = describe_configs(cluster, TOPIC, topics, deadline).results
    return {
        result.resource_name: int(config.value)
        for result in results
        for config in result.configs
        if config.name == _LARGEST and config.value is not None and config.value.isdecimal()
    }

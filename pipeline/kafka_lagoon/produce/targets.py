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
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.topic_partition import TopicPartition

_LARGEST, _COMPRESSION = "max.message.bytes", "compression.type"
_OF_PRODUCER = "producer"  # brokers store batches as they come


@frozen
class TargetTopic:
    """A description of a topic. `max_batch_bytes` and `compression_type` are None if we may not describe its configs."""

    topic: str
    topic_id: bytes
    partitions: int
    max_batch_bytes: int | None
    compression_type: str | None = None

    def keeps(self, codec: int) -> bool:
        """True if brokers store batches of a codec as they are; otherwise a batch may become larger than `max_batch_bytes`."""
        return self.compression_type in (None, _OF_PRODUCER) or CODECS.get(str(self.compression_type)) == codec

    def available(self, cluster: Cluster) -> list[int]:
        """The partitions that have a leader now, as far as the cluster knows."""
        some = (TopicPartition(self.topic, partition) for partition in range(self.partitions))
        return [one.partition for one in some if cluster.leader_of(one) is not None]


def describe_targets(cluster: Cluster, topics: Collection[str], deadline: Deadline) -> dict[str, TargetTopic]:
    """The topics by name; BrokerError if one cannot be described. Afterwards the cluster knows their leaders.

    A topic that a broker denies exists if another one describes it: brokers learn new topics late.
    """
    configs = _configs(cluster, sorted(topics), deadline)
    targets = {}
    for metadata in _described(cluster, topics, deadline).topics:
        name = str(metadata.name)
        if not metadata.partitions:
            raise BrokerError(metadata.error_code, error_code(metadata.error_code).name, METADATA.name, name)
        largest = configs.get(name, {}).get(_LARGEST, "")
        targets[name] = TargetTopic(
            topic=name,
            topic_id=metadata.topic_id,
            partitions=len(metadata.partitions),
            max_batch_bytes=int(largest) if largest.isdecimal() else None,
            compression_type=configs.get(name, {}).get(_COMPRESSION),
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


def _configs(cluster: Cluster, topics: list[str], deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
    """The values of max.message.bytes and compression.type that may be read, by topic."""
    results = describe_configs(cluster, TOPIC, topics, deadline).results
    return {
        result.resource_name: {
            config.name: config.value
            for config in result.configs
            if config.name in (_LARGEST, _COMPRESSION) and config.value is not None
        }
        for result in results
    }

"""Reads what Kafka says at the end of a history, by librdkafka: never by our own client."""

import base64
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from confluent_kafka import (
    OFFSET_BEGINNING,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType, TopicDescription

from tests.librdkafka import messages
from tests.proof.alterations import CONFIG
from tests.proof.evidence import (
    Partition,
    TopicState,
    digest,
)
from tests.proof.load import LiveTopic

_TIMEOUT_S = 60
_PAUSE_S = 0.5
# librdkafka's administration does not ask for new metadata, as its consumers do, when a leader has just changed.
# Without a leader it may return an invalid offset (-1001) and no error.
_STALE_LEADER = (
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._NO_OFFSET,
)


def topic_id(description: TopicDescription) -> str:
    """Return the id of a topic as Kafka prints it."""
    uuid = description.topic_id
    mask = (1 << 64) - 1
    bits = (uuid.get_most_significant_bits() & mask) << 64 | uuid.get_least_significant_bits() & mask
    return base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode().rstrip("=")


class Kafka:
    """Reads a cluster by librdkafka."""

    def __init__(self, bootstrap_servers: str, timeout_s: int = _TIMEOUT_S) -> None:
        self._servers, self._timeout_s = bootstrap_servers, timeout_s
        self._admin = self._connected()

    def _connected(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._servers, "log_level": 0})

    def describe(self, topics: Collection[str]) -> dict[str, TopicDescription]:
        """Describe topics that exist. After an error a new client is used: the old one may wait for a controller that is down."""
        if not topics:
            return {}
        described = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=self._timeout_s)
        try:
            return {name: future.result(self._timeout_s) for name, future in described.items()}
        except (KafkaException, TimeoutError):
            self._admin = self._connected()
            raise

    def offsets(self, topics: Iterable[LiveTopic], spec: OffsetSpec, isolation: IsolationLevel) -> dict[Partition, int]:
        """List an offset of each partition."""
        wanted = {TopicPartition(topic.name, number): topic for topic in topics for number in range(topic.partitions)}
        if not wanted:
            return {}
        ids = {topic.name: topic.topic_id for topic in wanted.values()}
        until = time.monotonic() + self._timeout_s
        while True:
            requested = self._admin.list_offsets(
                dict.fromkeys(wanted, spec), isolation_level=isolation, request_timeout=self._timeout_s
            )
            try:
                return {
                    Partition(ids[partition.topic], partition.partition): _valid(
                        future.result(2 * self._timeout_s).offset
                    )
                    for partition, future in requested.items()
                }
            except KafkaException as error:
                if error.args[0].code() not in _STALE_LEADER or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)
                self._admin = self._connected()  # with new metadata

    def starts(self, topics: Sequence[LiveTopic]) -> dict[Partition, int]:
        """List log start offsets."""
        return self.offsets(topics, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED)

    def ends(self, topics: Sequence[LiveTopic], isolation: IsolationLevel) -> dict[Partition, int]:
        """List last stable offsets, or high watermarks."""
        return self.offsets(topics, OffsetSpec.latest(), isolation)

    def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        """List the commits of a group."""
        (future,) = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        partitions = future.result(_TIMEOUT_S).topic_partitions
        return {(one.topic, one.partition): one.offset for one in partitions}

    def applied(self, prefix: str) -> dict[str, TopicState]:
        """Describe the topics of a prefix: partitions, and max.message.bytes where it is set on the topic."""
        names = [name for name in self._admin.list_topics(timeout=_TIMEOUT_S).topics if name.startswith(prefix)]
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        configs = self._admin.describe_configs(resources, request_timeout=_TIMEOUT_S) if names else {}
        limits = {one.name: future.result(_TIMEOUT_S)[CONFIG] for one, future in configs.items()}
        return {
            name: TopicState(len(one.partitions), None if limits[name].is_default else limits[name].value)
            for name, one in self.describe(names).items()
        }

    def records(self, topics: Sequence[LiveTopic]) -> dict[Partition, dict[int, str]]:
        """Read every record that a read_committed consumer is given, as digests."""
        ids = {topic.name: topic.topic_id for topic in topics}
        records: dict[Partition, dict[int, str]] = defaultdict(dict)
        for message in self._messages(topics):
            partition = Partition(ids[str(message.topic())], int(message.partition() or 0))
            offset = int(message.offset() or 0)
            assert offset not in records[partition]
            records[partition][offset] = digest(
                message.timestamp()[1], message.key(), message.value(), message.headers() or []
            )
        return dict(records)

    def keys(self, topics: Sequence[LiveTopic]) -> dict[Partition, dict[int, bytes | None]]:
        """Read the keys of all records that a read_committed consumer is given."""
        ids = {topic.name: topic.topic_id for topic in topics}
        keys: dict[Partition, dict[int, bytes | None]] = {
            Partition(topic.topic_id, number): {} for topic in topics for number in range(topic.partitions)
        }
        for message in self._messages(topics):
            partition = Partition(ids[str(message.topic())], int(message.partition() or 0))
            keys[partition][int(message.offset() or 0)] = message.key()
        return keys

    def values(self, topic: LiveTopic) -> Iterator[str]:
        """Read the values of a topic as text."""
        for message in self._messages([topic]):
            yield (message.value() or b"").decode()

    def _messages(self, topics: Sequence[LiveTopic]) -> Iterator[Message]:
        starts = [
            TopicPartition(topic.name, number, OFFSET_BEGINNING)
            for topic in topics
            for number in range(topic.partitions)
        ]
        # Transactions of writers that were killed stay open for a while.
        return messages(
            self._servers, starts, has_open_transactions=True, auto_offset_reset="earliest", check_crcs=True
        )


def _valid(offset: int) -> int:
    if offset < 0:
        raise KafkaException(KafkaError(KafkaError._NO_OFFSET))
    return offset

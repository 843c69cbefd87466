"""librdkafka's mock brokers: an independent implementation of the protocol, which shares no code with Kafka or with us."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as TheirPartition

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LOG_START, list_offsets, offsets_at
from kafka_lagoon.cli.main import run
from kafka_lagoon.client import session
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.produce.sending import Delivery, send_batches
from kafka_lagoon.produce.sequences import SequenceNumbers, init_producer_id
from kafka_lagoon.protocol.messages.find_coordinator import GROUP
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH, OffsetFetchRequest, OffsetFetchTopic
from kafka_lagoon.protocol.messages.produce import LEADER_ACKS
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encoding import Record
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import Versions
from tests.clock import CLOCK
from tests.integration.producers import AS_SENT, ODD, Consumed, by_librdkafka, consume

_FLEXIBLE_METADATA = 9  # from this version on mock brokers write a byte too many, which we refuse


@dataclass(frozen=True)
class Mock:
    """Three mock brokers, which live as long as librdkafka's producer that starts them."""

    producer: Producer
    bootstrap_servers: str

    def make(self, topic: str) -> TopicPartition:
        """Create a topic by requesting it; return its first partition."""
        self.producer.list_topics(topic, timeout=10)
        return TopicPartition(topic, 0)


@pytest.fixture(scope="module")
def mock() -> Mock:
    """Running mock brokers."""
    producer = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "none", "log_level": 0})
    brokers = producer.list_topics(timeout=10).brokers.values()
    return Mock(producer, ",".join(f"{one.host}:{one.port}" for one in brokers))


@pytest.fixture(autouse=True)
def _old_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use only the versions of Metadata that mock brokers encode correctly."""
    choose_version = session.choose_version

    def capped(api, offered, broker, within=None):
        old = Versions(0, _FLEXIBLE_METADATA - 1)
        return choose_version(api, offered, broker, old if api is METADATA else within)

    monkeypatch.setattr(session, "choose_version", capped)


@pytest.fixture
def cluster(mock: Mock) -> Iterator[Cluster]:
    """Our client, connected."""
    settings = KafkaSettings(bootstrap_servers=mock.bootstrap_servers)
    with Cluster.connect(settings, CLOCK, RequestStats(), soon()) as connected:
        yield connected


def soon() -> Deadline:
    return Deadline.after(CLOCK, 10_000)


def ours() -> list[Record]:
    """Make the odd records of the tests of reading, for our encoder."""
    return [
        Record(one.timestamp_ms, one.key, one.value, [(name.encode(), value) for name, value in one.headers])
        for one in ODD
    ]


def test_versions_are_agreed_on(cluster: Cluster) -> None:
    """Our version of ApiVersions is refused with a list in an unusual form; v0 is understood by both."""
    offered = [versions for versions in cluster.api_versions() if versions]
    cluster.refresh((), soon())
    assert len(cluster.brokers) == 3
    assert all(versions.api_keys for versions in offered)


def test_metadata_is_what_librdkafka_reads(mock: Mock, cluster: Cluster) -> None:
    """Brokers, and leader and replicas of each partition, are equal."""
    mock.make("seen")
    (topic,) = cluster.refresh({"seen"}, soon()).topics
    theirs = mock.producer.list_topics("seen", timeout=10)
    assert {(id_, one.host, one.port) for id_, one in theirs.brokers.items()} == {
        (id_, one.host, one.port) for id_, one in cluster.brokers.items()
    }
    assert {one.partition_index: (one.leader_id, sorted(one.replica_nodes)) for one in topic.partitions} == {
        id_: (one.leader, sorted(one.replicas)) for id_, one in theirs.topics["seen"].partitions.items()
    }


@pytest.mark.parametrize("codec", CODECS)
def test_what_we_produce_librdkafka_reads(mock: Mock, cluster: Cluster, codec: str) -> None:
    """Keys, values, times and headers, also null and repeated ones, are read, with and without sequence numbers."""
    partition = mock.make(f"ours-{codec}")
    cluster.refresh({partition.topic}, soon())
    sequences, written = init_producer_id(cluster, soon()), []
    for used, delivery in (
        (sequences, Delivery()),
        (SequenceNumbers(), Delivery(acks=LEADER_ACKS)),
        (sequences, Delivery()),
    ):
        batch = used.encode(partition, ours(), CODECS[codec])
        answer = send_batches(cluster, {partition: batch}, delivery, soon())
        assert not answer.failures
        used.advance(partition, len(ODD))
        written.append(answer.answers[partition].base_offset)
    assert written == [0, len(ODD), 2 * len(ODD)]
    expected = [Consumed(offset, one[2], 0, one[0], one[1], one[3]) for offset, one in enumerate([*ODD, *ODD, *ODD])]
    assert consume(mock, {partition.topic: 0}, "read_uncommitted") == {partition.topic: expected}


@pytest.mark.parametrize("codec", CODECS)
def test_what_librdkafka_produces_we_fetch(mock: Mock, codec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`lagoon kafka fetch` prints each record once, in order."""
    partition = mock.make(f"theirs-{codec}")
    by_librdkafka(mock, partition.topic, ODD, compression_type=codec)
    assert (
        run(
            [
                "kafka",
                "fetch",
                f"{partition.topic}:0",
                "-b",
                mock.bootstrap_servers,
                "--fields",
                "offset,key",
                "--format",
                "hex",
            ],
            {},
            CLOCK,
        )
        == 0
    )
    lines = [f"{offset}\t{'-' if one.key is None else one.key.hex()}" for offset, one in enumerate(ODD)]
    assert capsys.readouterr().out.splitlines() == lines


def test_offsets_are_what_librdkafka_reads(mock: Mock, cluster: Cluster) -> None:
    """Both ends of a log are equal. Mock brokers have no index of times, and return an end for a time."""
    partition = mock.make("ends")
    by_librdkafka(mock, partition.topic, ODD[:5])
    cluster.refresh({partition.topic}, soon())
    answer = list_offsets(cluster, [partition], [LOG_START, HIGH_WATERMARK], soon())
    consumer = Consumer({"bootstrap.servers": mock.bootstrap_servers, "group.id": "ends", "log_level": 0})
    theirs = consumer.get_watermark_offsets(TheirPartition(*partition), timeout=10)
    consumer.close()
    assert tuple(answer[kind].answers[partition].offset for kind in (LOG_START, HIGH_WATERMARK)) == theirs == (0, 5)
    assert not offsets_at(cluster, {partition: AS_SENT}, soon()).failures


def test_commits_are_found(mock: Mock, cluster: Cluster) -> None:
    """The coordinator of a group and its commits are found, with the versions that mock brokers know."""
    partition = mock.make("committed")
    consumer = Consumer({"bootstrap.servers": mock.bootstrap_servers, "group.id": "readers", "log_level": 0})
    consumer.commit(offsets=[TheirPartition(*partition, 7)], asynchronous=False)
    consumer.close()
    cluster.find_coordinators(["readers"], soon(), GROUP)
    coordinator_id = cluster.coordinator_of("readers", GROUP)
    assert coordinator_id is not None
    coordinator = cluster.brokers[coordinator_id]
    # Mock brokers take null, which means all topics, for none.
    requested = OffsetFetchTopic(name=partition.topic, partition_indexes=(0, 1))
    request = OffsetFetchRequest(group_id="readers", topics=(requested,))
    (topic,) = coordinator.ask(OFFSET_FETCH, request, soon(), Versions(0, 7)).topics
    assert [(one.partition_index, one.committed_offset, one.error_code) for one in topic.partitions] == [
        (0, 7, 0),
        (1, -1, 0),
    ]

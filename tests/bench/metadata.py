"""Decodes the metadata of a cluster with 100,000 partitions, against kafka-python's decoder of the same bytes.

The processor's time is compared: neither waits for anything.
"""

from kafka.protocol.metadata import MetadataResponse as PeersResponse

from kafka_lagoon.protocol.messages.metadata import (
    METADATA,
    MetadataBroker,
    MetadataPartition,
    MetadataResponse,
    MetadataTopic,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode
from tests.bench.measure import Comparison, Findings, alternate, timed

_TOPICS, _PARTITIONS, _BROKERS = 2_000, 50, 12
_VERSION = 12
_ROUNDS = 12


def run() -> Findings:
    """Compare ours with kafka-python's."""
    frame = encode(_response(), _VERSION, METADATA.is_flexible(_VERSION))
    _check_equal(_decode(frame), _peers_decode(frame))
    samples = alternate(
        {"ours": timed(lambda: _decode(frame)), "peer": timed(lambda: _peers_decode(frame))},
        rounds=_ROUNDS,
    )
    what = f"decode Metadata v{_VERSION} of {_TOPICS * _PARTITIONS:,} partitions ({len(frame) / 1e6:.1f} MB)"
    comparison = Comparison(
        what=what, ours=samples["ours"], peer="kafka-python", theirs=samples["peer"], measure="cpu_s"
    )
    return Findings(comparisons=[comparison])


def _decode(frame: bytes) -> MetadataResponse:
    return decode(MetadataResponse, _VERSION, METADATA.is_flexible(_VERSION), frame)


def _peers_decode(frame: bytes) -> PeersResponse:
    return PeersResponse.decode(frame, version=_VERSION)


def _response() -> MetadataResponse:
    brokers = tuple(
        MetadataBroker(node_id=number, host=f"broker-{number}.example.org", port=9092, rack=f"rack-{number % 3}")
        for number in range(_BROKERS)
    )
    topics = tuple(
        MetadataTopic(
            error_code=0,
            name=f"some.team.topic-{number:05}",
            topic_id=number.to_bytes(16, "big"),
            partitions=tuple(_partition(number, index) for index in range(_PARTITIONS)),
        )
        for number in range(_TOPICS)
    )
    return MetadataResponse(brokers=brokers, cluster_id="4L6g3nShT-eMCtK--X86sw", controller_id=1, topics=topics)


def _partition(topic: int, index: int) -> MetadataPartition:
    replicas = tuple((topic + index + place) % _BROKERS for place in range(3))
    return MetadataPartition(
        error_code=0,
        partition_index=index,
        leader_id=replicas[0],
        leader_epoch=7,
        replica_nodes=replicas,
        isr_nodes=replicas,
    )


def _check_equal(ours: MetadataResponse, theirs: PeersResponse) -> None:
    for topic, other in zip(ours.topics, theirs.topics, strict=True):
        assert topic.name == other.name
        for partition, other_partition in zip(topic.partitions, other.partitions, strict=True):
            assert (
                partition.partition_index,
                partition.leader_id,
                partition.leader_epoch,
                list(partition.replica_nodes),
            ) == (
                other_partition.partition_index,
                other_partition.leader_id,
                other_partition.leader_epoch,
                list(other_partition.replica_nodes),
            )

"""Makes hanging transactions: writes transactional batches outside of transactions.

Brokers refuse them unless `transaction.partition.verification.enable` is false, and take them by Produce before v12 only.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.find_coordinator import TRANSACTION
from kafka_lagoon.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_lagoon.protocol.messages.produce import (
    ALL_ACKS,
    PRODUCE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_lagoon.records.encoding import Producer, Record, encode_batch
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.schema import Versions
from tests.integration import every_broker
from tests.integration.kafka_tools import CONFIGS, in_release

VERIFICATION = "transaction.partition.verification.enable"  # KIP-890
_UNVERIFIED = Versions(3, 11)  # from v12 on brokers add the partition to the transaction themselves (KIP-890)
_IS_TRANSACTIONAL = 0x10


def hang(
    cluster: Cluster, partition: TopicPartition, transactional_id: str | None, at_ms: int, deadline: Deadline
) -> int:
    """Make a hanging transaction in a partition, with one record of that time; return the producer's id.

    A leader refuses the batch until the config has reached it, and writes nothing then, so it is sent again.
    """
    cluster.refresh([partition.topic], deadline)
    begun = _begin(cluster, transactional_id, deadline)
    producer = Producer(begun.producer_id, begun.producer_epoch, 0)
    records = encode_batch([Record(at_ms, None, b"v")], producer=producer, attributes=_IS_TRANSACTIONAL)
    data = PartitionProduceData(index=partition.partition, records=records)
    request = ProduceRequest(
        transactional_id=transactional_id or "any",
        acks=ALL_ACKS,
        timeout_ms=30_000,
        topic_data=(TopicProduceData(name=partition.topic, partition_data=(data,)),),
    )
    leader_id = cluster.leader_of(partition)
    assert leader_id is not None
    while code := _written(cluster.brokers[leader_id], request, deadline):
        assert deadline.pause(0.1), error_code(code).name
    return begun.producer_id


@contextmanager
def unverified(kafka: LocalKafka) -> Iterator[None]:
    """Make brokers accept transactional batches without a transaction."""
    brokers = ("--bootstrap-server", kafka.bootstrap_servers, "--entity-type", "brokers", "--entity-default")
    alter = (in_release(CONFIGS, kafka.version), *brokers, "--alter")
    kafka.tool(*alter, "--add-config", f"{VERIFICATION}=false")
    every_broker.goes_by(kafka.bootstrap_servers, VERIFICATION, "false")
    try:
        yield
    finally:
        kafka.tool(*alter, "--delete-config", VERIFICATION)
        every_broker.goes_by(kafka.bootstrap_servers, VERIFICATION, "true")


def _written(broker: Broker, request: ProduceRequest, deadline: Deadline) -> int:
    """Return the error code of the only batch of a request."""
    return broker.ask(PRODUCE, request, deadline, _UNVERIFIED).responses[0].partition_responses[0].error_code


def _begin(cluster: Cluster, transactional_id: str | None, deadline: Deadline) -> InitProducerIdResponse:
    """Get a producer id; with a transactional id from its coordinator, which a new cluster has to elect first."""
    begin = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    while not deadline.passed():
        if transactional_id is None:
            begun = cluster.ask_any(INIT_PRODUCER_ID, begin, deadline)
        else:
            cluster.find_coordinators([transactional_id], deadline, TRANSACTION)
            node_id = cluster.coordinator_of(transactional_id, TRANSACTION)
            begun = cluster.brokers[node_id or min(cluster.brokers)].ask(INIT_PRODUCER_ID, begin, deadline)
        if not begun.error_code:
            return begun
        deadline.pause(0.2)
    raise AssertionError(f"no producer id for {transactional_id}")

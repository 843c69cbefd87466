"""A topic on the fake cluster, and a function that writes to all its partitions."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.produce.sending import Delivery, SendResult, send_batches
from kafka_lagoon.produce.sequences import SequenceNumbers
from kafka_lagoon.protocol.messages.produce import LEADER_ACKS
from kafka_lagoon.records.encoding import Record
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered

NEWS = [TopicPartition("news", partition) for partition in range(3)]
RECORDS = [Record(1_000, b"k", b"v"), Record(2_000, None, None)]
PLAIN = Delivery(acks=LEADER_ACKS)
Connect = Callable[[], Cluster]


def soon(budget_ms: int = 2_000) -> Deadline:
    return Deadline.after(CLOCK, budget_ms)


@pytest.fixture
def cluster(state: FakeCluster, connect: Connect) -> Cluster:
    """A cluster that has looked up an empty topic of three partitions, one on each broker."""
    state.add_topic("news", 3, end=0)
    cluster = connect()
    cluster.refresh({"news"}, soon())
    return cluster


def write(cluster: Cluster, sequences: SequenceNumbers, delivery: Delivery, budget_ms: int = 2_000) -> SendResult:
    """Write two records to each partition."""
    batches = {partition: sequences.encode(partition, RECORDS, 0) for partition in NEWS}
    return send_batches(cluster, batches, delivery, soon(budget_ms))


def ends(state: FakeCluster) -> list[int]:
    return [partition.high_watermark for partition in state.topics["news"].partitions]


def refuse(code: int, partition: int | None = None, **fields: Any) -> Altered:
    """Make a response with this error code in every partition, or in one partition."""

    def change(response: Any) -> Any:
        for topic in response.responses:
            for answer in topic.partition_responses:
                if partition in (None, answer.index):
                    answer.error_code, answer.base_offset = code, -1
                    for name, value in fields.items():
                        setattr(answer, name, value)
        return response

    return Altered(change)

"""One broker: large responses, and a request that another thread interrupts."""

import threading
import time
from collections.abc import Callable

import pytest

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionLost
from kafka_lagoon.protocol.messages.fetch import BY_NAME, FETCH, FetchPartition, FetchRequest, FetchTopic
from tests.clock import CLOCK
from tests.fake.batches import batch
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Fault, Hang

EVERYTHING = FetchRequest(
    max_wait_ms=10,
    min_bytes=1,
    topics=(
        FetchTopic(
            topic="orders", partitions=(FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 30),)
        ),
    ),
)


def fetched(broker: Broker) -> memoryview:
    """Return all records of the partition, in one response."""
    answer = broker.ask(FETCH, EVERYTHING, Deadline.after(CLOCK, 30_000), BY_NAME)
    records = answer.responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    return records


@pytest.mark.parametrize("size", [10, 60_000, 100_000, 3_000_000])
def test_answers_of_any_size(state: FakeCluster, connect: Callable[[], Cluster], size: int) -> None:
    """Record data is a view of the response, which stays unchanged while others arrive."""
    log = state.topics["orders"].partitions[0]
    log.high_watermark = 0
    log.append(batch(0, [bytes(size)]))
    broker = connect().brokers[1]
    first = fetched(broker)
    log.log[0] = batch(0, [b"\x01" * size])
    second = fetched(broker)
    third = fetched(broker)
    assert bytes(first) == batch(0, [bytes(size)]).data
    assert second == third == log.log[0].data


def test_a_request_that_is_interrupted(state: FakeCluster, connect: Callable[..., Cluster]) -> None:
    """The interrupted request ends at once and is not repeated; after `close` the broker answers again."""
    broker = connect(request_timeout_ms=60_000).brokers[1]
    state.faults.append(Fault(FETCH.key, Hang()))
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            fetched(broker)
        except ConnectionLost as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not state.count(FETCH.key):
        time.sleep(0.005)
    broker.interrupt()
    thread.join(30)
    assert not thread.is_alive()  # long before the deadline of the request
    assert len(caught) == 1
    assert state.count(FETCH.key) == 1
    broker.close()
    assert fetched(broker) is not None

"""The APIs of the fake cluster that write to a partition's log.

A batch that a producer id numbers is written once, as long as it is among the last five of its producer: Kafka remembers no
more. The first batch of a producer may have any number, as in Kafka's ProducerAppendInfo. Without an id a batch is written as
often as it comes.
"""

import struct
from itertools import count
from typing import Any

from kafka_lagoon.protocol.messages import init_producer_id, produce
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition

NOT_LEADER, UNKNOWN_TOPIC, OUT_OF_ORDER, UNKNOWN_ID = 6, 3, 45, 100
APPENDED = frozenset({7, 20})  # REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND: the batch is in the log
REMEMBERED = 5
_BY_ID = 13
_ids = count(4_000)


def _produce(state: FakeCluster, node: int, version: int, request: Any) -> produce.ProduceResponse | None:
    topics = []
    for topic in request.topic_data:
        known = state.topics.get(topic.name) if version < _BY_ID else _by_id(state, topic.topic_id)
        some = tuple(
            _written(known.partitions[batch.index], node, batch)
            if known
            else _refused(batch, UNKNOWN_ID if version >= _BY_ID else UNKNOWN_TOPIC)
            for batch in topic.partition_data
        )
        answer = produce.TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=some)
        topics.append(answer)
    return produce.ProduceResponse(responses=tuple(topics)) if request.acks else None


def _by_id(state: FakeCluster, topic_id: bytes) -> Any:
    return next((topic for topic in state.topics.values() if topic.topic_id == topic_id), None)


def _refused(requested: Any, code: int) -> produce.PartitionProduceResponse:
    return produce.PartitionProduceResponse(index=requested.index, error_code=code, base_offset=-1, record_errors=())


def _written(log: FakePartition, node: int, requested: Any) -> produce.PartitionProduceResponse:
    if log.leader_id != node:
        return _refused(requested, NOT_LEADER)
    code = log.produce_errors.pop(0) if log.produce_errors else 0
    if code and code not in APPENDED:
        return _refused(requested, code)
    answer = _once(log, requested)
    return _refused(requested, code) if code and not answer.error_code else answer


def _once(log: FakePartition, requested: Any) -> produce.PartitionProduceResponse:
    data = bytes(requested.records)
    (last_delta,) = struct.unpack_from(">i", data, 23)
    producer_id, _, sequence = struct.unpack_from(">qhi", data, 43)
    written = [
        batch for batch in log.log if producer_id >= 0 and struct.unpack_from(">q", batch.data, 43)[0] == producer_id
    ]
    for batch in written[-REMEMBERED:]:
        if struct.unpack_from(">i", batch.data, 53)[0] == sequence:
            return _accepted(requested, batch.base_offset)
    if written and sequence != _next_sequence(written[-1]):
        return _refused(requested, OUT_OF_ORDER)
    base = log.high_watermark
    log.append(FakeBatch(base, base + last_delta, struct.pack(">q", base) + data[8:], log.leader_epoch))
    return _accepted(requested, base)


def _next_sequence(batch: FakeBatch) -> int:
    sequence: int = struct.unpack_from(">i", batch.data, 53)[0]
    return sequence + batch.last_offset - batch.base_offset + 1


def _accepted(requested: Any, base: int) -> produce.PartitionProduceResponse:
    return produce.PartitionProduceResponse(index=requested.index, error_code=0, base_offset=base, record_errors=())


def _init_producer_id(_state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    return init_producer_id.InitProducerIdResponse(
        throttle_time_ms=0, error_code=0, producer_id=next(_ids), producer_epoch=0
    )


ANSWERS = ((produce.PRODUCE, _produce), (init_producer_id.INIT_PRODUCER_ID, _init_producer_id))

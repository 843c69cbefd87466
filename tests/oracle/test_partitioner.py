"""Our partitioner against Kafka's own hash in Java; tests on brokers compare it with librdkafka's producer."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

from kafka_lagoon.produce.column_partitioner import ColumnPartitioner
from kafka_lagoon.produce.partitioner import murmur2, partition_of
from kafka_lagoon.records.encode_columns import RecordColumns
from tests.oracle.java_codec import JavaCodec


@pytest.mark.java
def test_hashes_are_javas(codecs: Sequence[JavaCodec]) -> None:
    """Keys of all lengths up to 40 bytes and some long ones have the same hash and partition as in both releases."""
    random = Random(20_261_121)
    keys = [random.randbytes(size) for size in (*range(41), *range(41), 1_000, 4_097)]
    for java in codecs:
        utils = java.jvm.org.apache.kafka.common.utils.Utils
        for key in keys:
            hashed = utils.murmur2(bytearray(key))
            assert murmur2(key) == hashed & 0xFFFFFFFF
            assert partition_of(key, 7) == utils.toPositive(hashed) % 7


@pytest.mark.java
def test_columns_go_where_java_puts_them(codecs: Sequence[JavaCodec]) -> None:
    """Thousands of keys of every length, with the function that Kafka's producer calls, for several numbers of partitions."""
    random = Random(20_261_122)
    keys = [random.randbytes(size) for size in (*list(range(130)) * 10, *(random.randrange(5_000) for _ in range(200)))]
    columns = RecordColumns(key=pa.array(keys, pa.binary()))
    numbers = (1, 2, 3, 7, 50, 4_096, 2**31 - 1)
    ours = {number: ColumnPartitioner(number, list, 1).choose(columns).tolist() for number in numbers}
    for java in codecs:
        chooser = java.jvm.org.apache.kafka.clients.producer.internals.BuiltInPartitioner
        for place, key in enumerate(keys):
            number = numbers[place % len(numbers)]
            assert ours[number][place] == chooser.partitionForKey(bytearray(key), number)

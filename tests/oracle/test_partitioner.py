"""Our partitioner against Kafka's own hash in Java, and against librdkafka's producer in tests of brokers."""

from collections.abc import Sequence
from random import Random

import pytest

from kafka_lagoon.produce.partitioner import murmur2, partition_of
from tests.oracle.java_codec import JavaCodec


@pytest.mark.java
def test_hashes_are_javas(codecs: Sequence[JavaCodec]) -> None:
    """Keys of every length up to 40 bytes and some long ones have the hash and the partition of both releases."""
    random = Random(20_261_121)
    keys = [random.randbytes(size) for size in (*range(41), *range(41), 1_000, 4_097)]
    for java in codecs:
        utils = java.jvm.org.apache.kafka.common.utils.Utils
        for key in keys:
            hashed = utils.murmur2(bytearray(key))
            assert murmur2(key) == hashed & 0xFFFFFFFF
            assert partition_of(key, 7) == utils.toPositive(hashed) % 7

"""DescribeCluster, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.describe_cluster import BROKERS, DescribeClusterRequest, DescribeClusterResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_fenced_brokers() -> None:
    """Fenced brokers can be requested from v2 on (KIP-1073), and each broker then has its fencing state."""
    with pytest.raises(EncodeError):
        encode(DescribeClusterRequest(include_fenced_brokers=True), 1, True)
    assert encode(DescribeClusterRequest(include_fenced_brokers=True), 2, True).hex(" ") == "00 01 01 00"
    spelled = "00000000 0000 00 01 0263 00000002 02 00000001 0268 00002384 00 01 00 80000000 00"
    (broker,) = decode(DescribeClusterResponse, 2, True, bytes.fromhex(spelled)).brokers
    assert (broker.broker_id, broker.is_fenced) == (1, True)


def test_endpoints() -> None:
    """Responses of brokers that do not know endpoint types are about brokers."""
    assert DescribeClusterRequest().endpoint_type == DescribeClusterResponse().endpoint_type == BROKERS

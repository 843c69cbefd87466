"""DescribeQuorum, byte by byte."""

from kafka_lagoon.protocol.messages.describe_quorum import DescribeQuorumResponse, QuorumListener, QuorumReplica
from kafka_lagoon.wire.reading import decode


def test_ports_are_unsigned() -> None:
    """A port above 32,767 is valid."""
    spelled = "0000 00 01 02 00000001 02 0261 0268 ffff 00 00 00"
    (node,) = decode(DescribeQuorumResponse, 2, True, bytes.fromhex(spelled)).nodes
    assert node.listeners == (QuorumListener(name="a", host="h", port=65535),)


def test_unknown_times() -> None:
    """Times that a version lacks are -1, which means unknown."""
    assert (QuorumReplica().last_fetch_timestamp, QuorumReplica().last_caught_up_timestamp) == (-1, -1)

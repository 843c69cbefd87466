"""StreamsGroupDescribe, byte by byte."""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.streams_group_describe import DescribedStreamsGroup, DescribedTopology
from kafka_lagoon.wire.reading import decode


def test_group_that_does_not_exist() -> None:
    """An unknown group has an error, a message, and a null topology: a byte of -1."""
    spelled = "0045 026d 0267 01 00000000 00000000 ff 01 80000000 00"
    decoded = decode(DescribedStreamsGroup, 0, True, bytes.fromhex(spelled))
    assert decoded == DescribedStreamsGroup(error_code=69, error_message="m", group_id="g")
    assert decoded.authorized_operations == NOT_ASKED


def test_topology_without_parts() -> None:
    """Parts of a topology may be null, which differs from empty."""
    assert decode(DescribedTopology, 0, True, bytes.fromhex("00000002 00 00")) == DescribedTopology(epoch=2)
    assert DescribedTopology().subtopologies is None

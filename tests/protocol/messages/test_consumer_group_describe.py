"""ConsumerGroupDescribe, byte by byte."""

from kafka_lagoon.protocol.messages.consumer_group_describe import (
    UNKNOWN_MEMBER,
    ConsumerGroupAssignment,
    ConsumerGroupTopicPartitions,
    DescribedConsumerMember,
)
from kafka_lagoon.wire.reading import decode


def test_assignments() -> None:
    """Assignments are structs that are never null, so no byte comes before them; the type of a member was added later."""
    owned = ConsumerGroupAssignment(
        topic_partitions=(ConsumerGroupTopicPartitions(topic_id=b"\x0f" * 16, topic_name="a", partitions=(3,)),)
    )
    assigned = "02" + "0f" * 16 + "0261 02 00000003 00 00"
    spelled = "026d 00 00 00000001 0263 0268 01 00" + assigned + "01 00" + "00"
    decoded = decode(DescribedConsumerMember, 0, True, bytes.fromhex(spelled))
    assert (decoded.assignment, decoded.target_assignment) == (owned, ConsumerGroupAssignment())
    assert decoded.member_type == UNKNOWN_MEMBER

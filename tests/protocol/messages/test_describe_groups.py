"""DescribeGroups, byte by byte."""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kafka_lagoon.wire.reading import decode


def test_group_that_does_not_exist() -> None:
    """From v6 on an unknown group has an error and a message (KIP-1043)."""
    spelled = "00000000 02 0045 026d 0267 0544656164 01 01 01 80000000 00 00"
    (decoded,) = decode(DescribeGroupsResponse, 6, True, bytes.fromhex(spelled)).groups
    assert decoded == DescribedGroup(error_code=69, error_message="m", group_id="g", group_state="Dead")
    assert decoded.authorized_operations == NOT_ASKED

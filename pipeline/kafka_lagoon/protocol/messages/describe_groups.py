"""DescribeGroups (api key 15): state and members of classic groups.

The coordinator of each group answers. Surprises:

- A group that does not exist, and a group of another type that does, are "Dead" with error 0 up to v5. From v6 on they
  are error 69 with a message (KIP-1043).
- Members and the chosen protocol mean something only in state Stable.
- What members subscribe to and own are bytes that the coordinator does not read. If protocol_type is "consumer" they
  are those of `kafka_lagoon.protocol.embedded`, else anything.
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import Api, Bool, Bytes, Int16, Int32, String, Versions, struct, wire


@struct
class DescribeGroupsRequest:
    """The groups to describe."""

    groups: tuple[String, ...]
    include_authorized_operations: Bool = wire(since=3)  # KIP-430


@struct
class DescribedMember:
    """A member, with its subscription (`member_metadata`) and what it was given (`member_assignment`)."""

    member_id: String
    group_instance_id: String | None = wire(since=4, ignorable=True, default=None)  # KIP-345: static membership
    client_id: String
    client_host: String
    member_metadata: Bytes
    member_assignment: Bytes


@struct
class DescribedGroup:
    """A group: PreparingRebalance, CompletingRebalance, Stable, Empty or Dead. `protocol_data` names the assignor."""

    error_code: Int16
    error_message: String | None = wire(since=6, default=None)
    group_id: String
    group_state: String = wire(repeats=True)
    protocol_type: String = wire(repeats=True)
    protocol_data: String = wire(repeats=True)
    members: tuple[DescribedMember, ...]
    authorized_operations: Int32 = wire(since=3, least=NOT_ASKED, default=NOT_ASKED)


@struct
class DescribeGroupsResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    groups: tuple[DescribedGroup, ...]


DESCRIBE_GROUPS = Api(
    key=15,
    versions=Versions(0, 6),
    flexible=5,
    request=DescribeGroupsRequest,
    response=DescribeGroupsResponse,
)

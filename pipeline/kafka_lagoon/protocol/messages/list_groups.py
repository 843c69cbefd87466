"""ListGroups (api key 16): the groups that a broker coordinates.

Every broker answers for its own groups, so the request goes to all. Surprises:

- Groups that we may not describe are left out without an error.
- While the coordinator of a group moves, two brokers may list it, or none.
- A state or type that brokers do not know filters everything out, without an error.
- Types and states are text; types come in lower case: classic, consumer, share, streams.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire


@struct
class ListGroupsRequest:
    """Empty filters let every group through."""

    states_filter: tuple[String, ...] = wire(since=4)  # KIP-518
    types_filter: tuple[String, ...] = wire(since=5)  # KIP-848


@struct
class ListedGroup:
    """A group. Its type decides which API describes it; state and type are empty where the version lacks them."""

    group_id: String
    protocol_type: String = wire(repeats=True)  # "consumer", "connect", ...; empty for groups that only store offsets
    group_state: String = wire(since=4, ignorable=True, repeats=True)
    group_type: String = wire(since=5, ignorable=True, repeats=True)


@struct
class ListGroupsResponse:
    """The groups of one broker. Error 14 while it still loads them, 15 while it shuts down."""

    throttle_time_ms: Int32 = wire(since=1, ignorable=True)
    error_code: Int16
    groups: tuple[ListedGroup, ...]


LIST_GROUPS = Api(
    key=16,
    versions=Versions(0, 5),
    flexible=3,
    request=ListGroupsRequest,
    response=ListGroupsResponse,
)

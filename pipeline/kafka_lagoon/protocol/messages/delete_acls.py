"""DeleteAcls (api key 31): access rules that match filters are deleted (KIP-140).

Any broker answers: under ZooKeeper it deletes the rules itself, under KRaft it passes the filters on (KIP-590). Needs
permission to alter the cluster. Surprises:

- A filter that nothing matches is a success without matches. One of ANY and null deletes every rule there is.
- There is no trial run: to see what would go, ask DescribeAcls with the same filter.
- A number that the broker does not know is error 42, or matches nothing (2.8); 0, UNKNOWN, ends the connection.
- A cluster without an authorizer answers error 54.
"""

from kafka_lagoon.protocol.acls import LITERAL
from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire


@struct
class DeleteAclsFilter:
    """Conditions on the rules to delete; a rule must meet all of them."""

    resource_type_filter: Int8  # of RESOURCE_TYPES, ANY for all
    resource_name_filter: String | None  # null for all
    pattern_type_filter: Int8 = wire(since=1, default=LITERAL)  # KIP-290; before, all were literal
    principal_filter: String | None  # as User:name
    host_filter: String | None  # null for all
    operation: Int8  # ANY for all
    permission_type: Int8  # ANY for all


@struct
class DeleteAclsRequest:
    """The filters; a rule goes when any of them fits."""

    filters: tuple[DeleteAclsFilter, ...]


@struct
class DeleteAclsMatchingAcl:
    """A rule that a filter fits, deleted unless it has an error of its own."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = wire(since=1, default=LITERAL)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class DeleteAclsFilterResult:
    """The rules that match a filter. Results have the order of the filters."""

    error_code: Int16
    error_message: String | None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...]


@struct
class DeleteAclsResponse:
    """One entry per filter, in the order of the request."""

    throttle_time_ms: Int32
    filter_results: tuple[DeleteAclsFilterResult, ...]


DELETE_ACLS = Api(
    key=31,
    versions=Versions(0, 3),
    flexible=2,
    request=DeleteAclsRequest,
    response=DeleteAclsResponse,
)

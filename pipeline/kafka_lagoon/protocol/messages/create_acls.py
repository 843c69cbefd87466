"""CreateAcls (api key 30): new access rules (KIP-140).

Any broker answers: under ZooKeeper it writes the rules itself, under KRaft it passes them on (KIP-590). Needs permission
to alter the cluster. Surprises:

- Rules succeed and fail each by itself; one that exists already is a success.
- A resource need not exist. CLUSTER has one name only, CLUSTER_NAME (error 42 otherwise).
- What stands for several, ANY and MATCH, is error -1, while ALL is an operation like others.
- A number that the broker does not know is error 42; 0, UNKNOWN, ends the connection.
- A host that is a name is taken, and never matches: addresses are what the broker compares.
- Other brokers obey a new rule a moment later.
- A cluster without an authorizer answers error 54.
"""

from kafka_lagoon.protocol.acls import LITERAL
from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire


@struct
class AclCreation:
    """A rule to create."""

    resource_type: Int8  # of RESOURCE_TYPES
    resource_name: String
    resource_pattern_type: Int8 = wire(since=1, default=LITERAL)  # KIP-290: LITERAL or PREFIXED
    principal: String  # as User:name
    host: String  # an address; WILDCARD for all
    operation: Int8
    permission_type: Int8  # ALLOW or DENY


@struct
class CreateAclsRequest:
    """The rules to create."""

    creations: tuple[AclCreation, ...]


@struct
class AclCreationResult:
    """The result for a rule, in the order of the request."""

    error_code: Int16
    error_message: String | None


@struct
class CreateAclsResponse:
    """One entry per rule, in the order of the request."""

    throttle_time_ms: Int32
    results: tuple[AclCreationResult, ...]


CREATE_ACLS = Api(
    key=30,
    versions=Versions(0, 3),
    flexible=2,
    request=CreateAclsRequest,
    response=CreateAclsResponse,
)

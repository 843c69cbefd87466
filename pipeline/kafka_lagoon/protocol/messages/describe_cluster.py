"""DescribeCluster (api key 60): the cluster's id and brokers, fenced ones too (KIP-700).

Any broker answers, and needs no permission for it. What we may do with the cluster is in the bits of
cluster_authorized_operations, where it tells whether lists from other APIs are complete. A broker's controller_id is a
broker's under KRaft, not the controller's: DescribeQuorum knows the true one.
"""

from kafka_lagoon.protocol.acls import NOT_ASKED
from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Versions, struct, wire

BROKERS, CONTROLLERS = 1, 2  # endpoint types, KIP-919
WITH_FENCED = Versions(2, 2)  # where fenced brokers can be asked for, KIP-1073


@struct
class DescribeClusterRequest:
    """The endpoints to list. Brokers answer only about BROKERS, controllers only about CONTROLLERS."""

    include_cluster_authorized_operations: Bool
    endpoint_type: Int8 = wire(since=1, default=BROKERS)
    include_fenced_brokers: Bool = wire(since=2)  # KIP-1073


@struct
class DescribeClusterBroker:
    """A broker; one that is fenced is registered but takes no part."""

    broker_id: Int32
    host: String
    port: Int32
    rack: String | None = wire(default=None)
    is_fenced: Bool = wire(since=2)


@struct
class DescribeClusterResponse:
    """The cluster as the broker sees it."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None = wire(default=None)
    endpoint_type: Int8 = wire(since=1, default=BROKERS)
    cluster_id: String
    controller_id: Int32 = wire(default=-1)
    brokers: tuple[DescribeClusterBroker, ...]
    cluster_authorized_operations: Int32 = wire(least=NOT_ASKED, default=NOT_ASKED)


DESCRIBE_CLUSTER = Api(
    key=60,
    versions=Versions(0, 2),
    flexible=0,
    request=DescribeClusterRequest,
    response=DescribeClusterResponse,
)

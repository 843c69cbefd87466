"""ListConfigResources (api key 74): what has settings, or could have some (KIP-1142).

Any broker answers, given permission to describe the cluster's settings. v0 is ListClientMetricsResources (KIP-714) and
lists these alone. Resource types are those of DescribeConfigs. Surprises:

- Groups are listed when they have settings, whether they exist or not, and not when they merely exist.
- Topics and brokers are all listed, with settings of their own or without.
- One type that the broker does not know makes error 35 of all of them.
"""

from kafka_lagoon.protocol.messages.describe_configs import CLIENT_METRICS
from kafka_lagoon.wire.schema import Api, Int8, Int16, Int32, String, Versions, struct, wire


@struct
class ListConfigResourcesRequest:
    """Types of resources to list; an empty list is all of them."""

    resource_types: tuple[Int8, ...] = wire(since=1)


@struct
class ConfigResource:
    """A resource; in v0 always one of type CLIENT_METRICS."""

    resource_name: String
    resource_type: Int8 = wire(since=1, default=CLIENT_METRICS, ignorable=True)


@struct
class ListConfigResourcesResponse:
    """The resources in any order."""

    throttle_time_ms: Int32
    error_code: Int16
    config_resources: tuple[ConfigResource, ...]


LIST_CONFIG_RESOURCES = Api(
    key=74,
    versions=Versions(0, 1),
    flexible=0,
    request=ListConfigResourcesRequest,
    response=ListConfigResourcesResponse,
)

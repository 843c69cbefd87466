"""DescribeConfigs (api key 32): settings of topics, brokers, groups and others, and where each value comes from.

Any broker answers, but for BROKER and BROKER_LOGGER only the broker itself: other brokers say error 42. Surprises:

- Resource types are a numbering of their own, not that of ACLs.
- One resource of a type that the broker does not know makes error 42 of all of them: one type per request.
- Values of sensitive settings are null, and so are those of broker settings that the broker itself does not know.
- Permission to describe the cluster is not enough for broker settings.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Versions, struct, wire

TOPIC = 2
BROKER = 4
BROKER_LOGGER = 8
CLIENT_METRICS = 16
GROUP = 32

# Where a value comes from; 1 to 5 win in this order.
CONFIG_SOURCES = {
    0: "UNKNOWN",
    1: "TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "CLIENT_METRICS_CONFIG",
    8: "GROUP_CONFIG",
}

CONFIG_TYPES = {
    0: "UNKNOWN",
    1: "BOOLEAN",
    2: "STRING",
    3: "INT",
    4: "SHORT",
    5: "LONG",
    6: "DOUBLE",
    7: "LIST",
    8: "CLASS",
    9: "PASSWORD",
}


@struct
class DescribeConfigsResource:
    """A resource, and the settings to describe; null and an empty list are both all of them."""

    resource_type: Int8
    resource_name: String  # brokers by id; the empty name is the default of all brokers
    configuration_keys: tuple[String, ...] | None


@struct
class DescribeConfigsRequest:
    """Resources to describe. Synonyms are the places a value could come from instead."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: Bool = wire(since=1)  # KIP-226
    include_documentation: Bool = wire(since=3)  # KIP-569


@struct
class DescribeConfigsSynonym:
    """A value that a setting has, or would have, from another source."""

    name: String = wire(since=1)
    value: String | None = wire(since=1)
    source: Int8 = wire(since=1)


@struct
class DescribeConfigsEntry:
    """A setting. v0 only tells whether it is the default, later versions tell its source."""

    name: String
    value: String | None
    read_only: Bool
    is_default: Bool = wire(until=0)
    config_source: Int8 = wire(since=1, default=-1, ignorable=True)
    is_sensitive: Bool
    synonyms: tuple[DescribeConfigsSynonym, ...] = wire(since=1, ignorable=True)
    config_type: Int8 = wire(since=3, ignorable=True)  # of CONFIG_TYPES
    documentation: String | None = wire(since=3, ignorable=True)


@struct
class DescribeConfigsResult:
    """A resource's settings, or why they are not listed."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    configs: tuple[DescribeConfigsEntry, ...] = wire(repeats=True)


@struct
class DescribeConfigsResponse:
    """One entry per requested resource."""

    throttle_time_ms: Int32
    results: tuple[DescribeConfigsResult, ...]


DESCRIBE_CONFIGS = Api(
    key=32,
    versions=Versions(0, 4),
    flexible=4,
    request=DescribeConfigsRequest,
    response=DescribeConfigsResponse,
)

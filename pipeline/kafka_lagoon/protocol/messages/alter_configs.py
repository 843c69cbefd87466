"""AlterConfigs (api key 33): all settings of a resource replaced by those that are sent (KIP-133).

Any broker answers, but for a BROKER with a name only the broker itself: other brokers say error 42. Resource types
are those of DescribeConfigs. Surprises:

- What is not sent goes back to its default, sensitive settings too, whose values nobody can read to send them again.
  IncrementalAlterConfigs (KIP-339) changes what it names and nothing else, and is the one to use.
- Two clients that read, change and write undo each other's changes.
- The same resource twice is error 42 for both; so is a null value.
- BROKER_LOGGER is error 42: levels of loggers are changed by IncrementalAlterConfigs only.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Versions, struct


@struct
class AlterConfigsEntry:
    """A setting that the resource is to have."""

    name: String
    value: String | None


@struct
class AlterConfigsResource:
    """A resource and all settings it is to have of its own."""

    resource_type: Int8
    resource_name: String  # brokers by id; the empty name is the default of all brokers
    configs: tuple[AlterConfigsEntry, ...]


@struct
class AlterConfigsRequest:
    """Resources to change; validate_only changes nothing and answers as if."""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: Bool


@struct
class AlterConfigsResult:
    """The result for a resource, for all of its settings or none of them."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@struct
class AlterConfigsResponse:
    """One entry per resource."""

    throttle_time_ms: Int32
    responses: tuple[AlterConfigsResult, ...]


ALTER_CONFIGS = Api(
    key=33,
    versions=Versions(0, 2),
    flexible=2,
    request=AlterConfigsRequest,
    response=AlterConfigsResponse,
)

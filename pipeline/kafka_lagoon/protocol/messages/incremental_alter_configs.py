"""IncrementalAlterConfigs (api key 44): single settings of resources set, deleted or edited (KIP-339).

Any broker answers, but for a BROKER with a name and for a BROKER_LOGGER only the broker itself: other brokers say
error 42. Resource types are those of DescribeConfigs. Surprises:

- A resource gets all of its changes or none; resources succeed and fail each by itself.
- The same resource, or the same setting of one, twice is error 42.
- APPEND and SUBTRACT are for settings that are lists, else error 40; a value that is there already is not added again.
- DELETE is not "empty": the setting goes back to what comes after it, see CONFIG_SOURCES of DescribeConfigs.
- Levels of loggers (BROKER_LOGGER, KIP-412) are gone with the next start of the broker.
- A topic that does not exist is error 3, but any GROUP and CLIENT_METRICS can have settings.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Versions, struct

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@struct
class IncrementalAlterConfigsEntry:
    """A change of one setting."""

    name: String
    config_operation: Int8  # SET, DELETE, APPEND or SUBTRACT
    value: String | None  # null with DELETE; lists with commas


@struct
class IncrementalAlterConfigsResource:
    """A resource and the changes of its settings."""

    resource_type: Int8
    resource_name: String  # brokers by id; the empty name is the default of all brokers
    configs: tuple[IncrementalAlterConfigsEntry, ...]


@struct
class IncrementalAlterConfigsRequest:
    """Resources to change; validate_only changes nothing and answers as if."""

    resources: tuple[IncrementalAlterConfigsResource, ...]
    validate_only: Bool


@struct
class IncrementalAlterConfigsResult:
    """The result for a resource, for all of its changes or none of them."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@struct
class IncrementalAlterConfigsResponse:
    """One entry per resource."""

    throttle_time_ms: Int32
    responses: tuple[IncrementalAlterConfigsResult, ...]


INCREMENTAL_ALTER_CONFIGS = Api(
    key=44,
    versions=Versions(0, 1),
    flexible=1,
    request=IncrementalAlterConfigsRequest,
    response=IncrementalAlterConfigsResponse,
)

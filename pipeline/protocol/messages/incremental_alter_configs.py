"""IncrementalAlterConfigs (api key 44): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Route, String, Versions, struct


@struct
class AlterableConfig:
    """?"""

    name: String
    config_operation: Int8
    value: String | None


@struct
class AlterConfigsResource:
    """?"""

    resource_type: Int8
    resource_name: String
    configs: tuple[AlterableConfig, ...]


@struct
class IncrementalAlterConfigsRequest:
    """?"""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: Bool


@struct
class AlterConfigsResourceResponse:
    """?"""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@struct
class IncrementalAlterConfigsResponse:
    """?"""

    throttle_time_ms: Int32
    responses: tuple[AlterConfigsResourceResponse, ...]


INCREMENTAL_ALTER_CONFIGS = Api(
    key=44,
    versions=Versions(0, 1),
    flexible=1,
    route=Route.ANY,
    request=IncrementalAlterConfigsRequest,
    response=IncrementalAlterConfigsResponse,
)

"""AlterConfigs (api key 33): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Route, String, Versions, struct


@struct
class AlterableConfig:
    """?"""

    name: String
    value: String | None


@struct
class AlterConfigsResource:
    """?"""

    resource_type: Int8
    resource_name: String
    configs: tuple[AlterableConfig, ...]


@struct
class AlterConfigsRequest:
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
class AlterConfigsResponse:
    """?"""

    throttle_time_ms: Int32
    responses: tuple[AlterConfigsResourceResponse, ...]


ALTER_CONFIGS = Api(
    key=33,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.ANY,
    request=AlterConfigsRequest,
    response=AlterConfigsResponse,
)

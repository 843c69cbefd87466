"""ListConfigResources (api key 74): ?"""

from pipeline.wire.schema import Api, Int8, Int16, Int32, Route, String, Versions, struct, wire


@struct
class ListConfigResourcesRequest:
    """?"""

    resource_types: tuple[Int8, ...] = wire(since=1)


@struct
class ConfigResource:
    """?"""

    resource_name: String
    resource_type: Int8 = wire(since=1, default=16, ignorable=True)


@struct
class ListConfigResourcesResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    config_resources: tuple[ConfigResource, ...]


LIST_CONFIG_RESOURCES = Api(
    key=74,
    versions=Versions(0, 1),
    flexible=0,
    route=Route.ANY,
    request=ListConfigResourcesRequest,
    response=ListConfigResourcesResponse,
)

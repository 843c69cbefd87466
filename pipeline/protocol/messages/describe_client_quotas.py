"""DescribeClientQuotas (api key 48): ?"""

from pipeline.wire.schema import Api, Bool, Float64, Int8, Int16, Int32, Route, String, Versions, struct


@struct
class ComponentData:
    """?"""

    entity_type: String
    match_type: Int8
    match: String | None


@struct
class DescribeClientQuotasRequest:
    """?"""

    components: tuple[ComponentData, ...]
    strict: Bool


@struct
class EntityData:
    """?"""

    entity_type: String
    entity_name: String | None


@struct
class ValueData:
    """?"""

    key: String
    value: Float64


@struct
class EntryData:
    """?"""

    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]


@struct
class DescribeClientQuotasResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    entries: tuple[EntryData, ...] | None


DESCRIBE_CLIENT_QUOTAS = Api(
    key=48,
    versions=Versions(0, 1),
    flexible=1,
    route=Route.ANY,
    request=DescribeClientQuotasRequest,
    response=DescribeClientQuotasResponse,
)

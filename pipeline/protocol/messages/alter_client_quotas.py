"""AlterClientQuotas (api key 49): ?"""

from pipeline.wire.schema import Api, Bool, Float64, Int16, Int32, Route, String, Versions, struct


@struct
class EntityData:
    """?"""

    entity_type: String
    entity_name: String | None


@struct
class OpData:
    """?"""

    key: String
    value: Float64
    remove: Bool


@struct
class EntryData:
    """?"""

    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


@struct
class AlterClientQuotasRequest:
    """?"""

    entries: tuple[EntryData, ...]
    validate_only: Bool


@struct
class EntryDataInResponse:
    """?"""

    error_code: Int16
    error_message: String | None
    entity: tuple[EntityData, ...]


@struct
class AlterClientQuotasResponse:
    """?"""

    throttle_time_ms: Int32
    entries: tuple[EntryDataInResponse, ...]


ALTER_CLIENT_QUOTAS = Api(
    key=49,
    versions=Versions(0, 1),
    flexible=1,
    route=Route.CONTROLLER,
    request=AlterClientQuotasRequest,
    response=AlterClientQuotasResponse,
)

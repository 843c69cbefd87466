"""GetTelemetrySubscriptions (api key 71): ?"""

from pipeline.wire.schema import Api, Bool, Int8, Int16, Int32, Route, String, Uuid, Versions, struct


@struct
class GetTelemetrySubscriptionsRequest:
    """?"""

    client_instance_id: Uuid


@struct
class GetTelemetrySubscriptionsResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16
    client_instance_id: Uuid
    subscription_id: Int32
    accepted_compression_types: tuple[Int8, ...]
    push_interval_ms: Int32
    telemetry_max_bytes: Int32
    delta_temporality: Bool
    requested_metrics: tuple[String, ...]


GET_TELEMETRY_SUBSCRIPTIONS = Api(
    key=71,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.ANY,
    request=GetTelemetrySubscriptionsRequest,
    response=GetTelemetrySubscriptionsResponse,
)

"""PushTelemetry (api key 72): ?"""

from pipeline.wire.schema import Api, Bool, Bytes, Int8, Int16, Int32, Route, Uuid, Versions, struct


@struct
class PushTelemetryRequest:
    """?"""

    client_instance_id: Uuid
    subscription_id: Int32
    terminating: Bool
    compression_type: Int8
    metrics: Bytes


@struct
class PushTelemetryResponse:
    """?"""

    throttle_time_ms: Int32
    error_code: Int16


PUSH_TELEMETRY = Api(
    key=72,
    versions=Versions(0, 0),
    flexible=0,
    route=Route.ANY,
    request=PushTelemetryRequest,
    response=PushTelemetryResponse,
)

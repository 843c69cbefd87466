"""PushTelemetry (api key 72): a client's own metrics (KIP-714).

The broker answers that was asked for GetTelemetrySubscriptions; another one takes them as well, if it knows the same
subscriptions. Surprises:

- Error 117: what is subscribed to has changed, so ask for it and push again. 76: a codec that is not accepted. 118:
  more bytes than telemetry_max_bytes. 87: the plugin that receives them failed.
- A push that is too early is error 89. The first one after asking is not, nor is the last one.
"""

from kafka_lagoon.wire.schema import Api, Bool, Bytes, Int8, Int16, Int32, Uuid, Versions, struct


@struct
class PushTelemetryRequest:
    """Metrics of a client."""

    client_instance_id: Uuid
    subscription_id: Int32
    terminating: Bool  # the last push: any later one is error 42
    compression_type: Int8  # codec as in record batches
    metrics: Bytes  # MetricsData of OpenTelemetry v1, in protobuf


@struct
class PushTelemetryResponse:
    """An error code, 0 if the metrics were received."""

    throttle_time_ms: Int32
    error_code: Int16


PUSH_TELEMETRY = Api(
    key=72,
    versions=Versions(0, 0),
    flexible=0,
    request=PushTelemetryRequest,
    response=PushTelemetryResponse,
)

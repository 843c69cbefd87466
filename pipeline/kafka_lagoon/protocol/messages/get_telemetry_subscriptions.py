"""GetTelemetrySubscriptions (api key 71): which of a client's own metrics the cluster wants to have (KIP-714).

Any broker answers, and PushTelemetry goes to the same one. Surprises:

- Brokers list the API only if they have a plugin that receives metrics.
- The answer has the id even if the client sent it; the schema says that it is zero then.
- Asked again before push_interval_ms has passed it is error 89, except after errors 117 and 76 of PushTelemetry.
"""

from kafka_lagoon.wire.schema import Api, Bool, Int8, Int16, Int32, String, Uuid, Versions, struct

NO_INSTANCE_ID = bytes(16)  # in the first request: the broker makes one, to be kept for the client's life
EVERY_METRIC = ""  # as a prefix in requested_metrics


@struct
class GetTelemetrySubscriptionsRequest:
    """A client, by the id that it was given."""

    client_instance_id: Uuid


@struct
class GetTelemetrySubscriptionsResponse:
    """The metrics to push, how often, and in which form."""

    throttle_time_ms: Int32
    error_code: Int16
    client_instance_id: Uuid
    subscription_id: Int32  # of what is subscribed to; to be sent with each push
    accepted_compression_types: tuple[Int8, ...]  # the codecs of record batches, the preferred one first
    push_interval_ms: Int32
    telemetry_max_bytes: Int32  # of a push, compressed
    delta_temporality: Bool  # counters since the last push, not since the beginning
    requested_metrics: tuple[String, ...]  # prefixes of names; none is no metrics, and EVERY_METRIC all


GET_TELEMETRY_SUBSCRIPTIONS = Api(
    key=71,
    versions=Versions(0, 0),
    flexible=0,
    request=GetTelemetrySubscriptionsRequest,
    response=GetTelemetrySubscriptionsResponse,
)

"""GetTelemetrySubscriptions, byte by byte."""

from kafka_lagoon.protocol.messages.get_telemetry_subscriptions import (
    EVERY_METRIC,
    NO_INSTANCE_ID,
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


def test_first_request() -> None:
    """A client without an id sends zeros."""
    request = GetTelemetrySubscriptionsRequest(client_instance_id=NO_INSTANCE_ID)
    assert encode(request, 0, True) == bytes(17)


def test_all_metrics() -> None:
    """A list with one empty prefix means all metrics, an empty list none."""
    instance = "0f" * 16
    spelled = f"00000000 0000 {instance} 00000007 03 04 03 00002710 00100000 01 02 01 00"
    decoded = decode(GetTelemetrySubscriptionsResponse, 0, True, bytes.fromhex(spelled))
    assert (decoded.requested_metrics, decoded.accepted_compression_types) == ((EVERY_METRIC,), (4, 3))
    assert decoded.push_interval_ms == 10_000

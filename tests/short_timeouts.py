"""Settings with which tests of faults end soon."""

from kafka_lagoon.kafka_settings import KafkaSettings, checked
from tests.fake.cluster import FakeCluster


def short_timeouts(state: FakeCluster, **more: int | str) -> KafkaSettings:
    """Return the settings of a fake cluster; `more` replaces some of them."""
    values = {
        "bootstrap_servers": ",".join(f"{host}:{port}" for host, port in state.addresses.values()),
        "request_timeout_ms": 500,
        "socket_connection_setup_timeout_ms": 500,
        "default_api_timeout_ms": 2_000,
        "retry_backoff_ms": 10,
        "retry_backoff_max_ms": 50,
        **more,
    }
    return checked(values)

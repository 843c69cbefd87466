"""Makes what the connections to a cluster share from its settings: the TLS context, the logins, the pace."""

from collections.abc import Callable
from functools import partial

from kafka_lagoon.client.pace import Pace
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Access
from kafka_lagoon.clock import Clock
from kafka_lagoon.kafka_settings import KafkaSettings


def access_to(
    settings: KafkaSettings,
    clock: Clock,
    request_stats: RequestStats,
    cluster_id: Callable[[], str | None] = lambda: None,
) -> Access:
    """The access to a cluster; ConfigError if a truststore or keystore cannot be used.

    Once `cluster_id` returns an id, new connections are refused if their broker is of another cluster.
    """
    tls, login = None, None
    if settings.uses_tls():
        from kafka_lagoon.client.tls import context  # noqa: PLC0415  not needed without TLS

        tls = context(settings)
    if settings.uses_sasl():
        from kafka_lagoon.client.logins import login_for  # noqa: PLC0415  not needed without SASL

        login = partial(login_for, settings, clock=clock)
    return Access(
        settings=settings,
        tls=tls,
        login=login,
        clock=clock,
        request_stats=request_stats,
        pace=Pace(clock, settings.max_bytes_per_second),
        cluster_id=cluster_id,
    )

"""Starts the SASL login of a connection with the mechanism that the settings name."""

from kafka_lagoon.client import keystores
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sasl.conversation import Login
from kafka_lagoon.sasl.peer import Peer, revealed
from kafka_lagoon.sasl.registry import LOGINS
from kafka_lagoon.sasl.token import Source


def login_for(settings: KafkaSettings, host: str, clock: Clock) -> Login:
    """Return the login for one connection to the broker at `host`; errors as `LOGINS` has them."""
    if not settings.sasl_mechanism:
        raise ConfigError([f"security_protocol {settings.security_protocol} needs sasl_mechanism"])
    peer = Peer(settings=settings.login_settings(), host=host, clock=clock, token_endpoint=_token_endpoint)
    return LOGINS[settings.sasl_mechanism](peer)


def _token_endpoint(settings: KafkaSettings) -> Source:
    from kafka_lagoon.client.token_endpoint import TokenEndpoint, check_url  # noqa: PLC0415  20 ms for HTTP

    url = settings.sasl_oauthbearer_token_endpoint_url or ""
    check_url(url, settings.sasl_oauthbearer_allowed_urls)
    return TokenEndpoint(
        url=url,
        client_id=settings.sasl_oauthbearer_client_id or "",
        client_secret=revealed(settings.sasl_oauthbearer_client_secret),
        scope=settings.sasl_oauthbearer_scope,
        certificates=keystores.trusted(settings),
    )

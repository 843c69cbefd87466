"""Declares what the SASL logins are made of: the settings, and the broker that a connection was opened to."""

from collections.abc import Callable

from kafka_lagoon.clock import Clock
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sasl.token import Source
from kafka_lagoon.secret import Secret


@frozen
class Peer:
    """A broker that a connection was opened to, and the settings to authenticate with."""

    settings: KafkaSettings
    host: str
    clock: Clock
    token_endpoint: Callable[[KafkaSettings], Source]  # needs HTTP, which is in client/


def revealed(secret: Secret | None) -> str:
    """Return the value of a secret, empty if it is not set."""
    return secret.reveal() if secret else ""

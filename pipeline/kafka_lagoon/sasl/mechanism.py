"""Defines the declaration of a SASL mechanism: its name, the settings that it needs, and whether it sends a secret.

Each module of this room declares its mechanisms, and registry.py lists them. The checks of the settings and the policy for
addresses read nothing but these declarations.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_lagoon.clock import Clock
from kafka_lagoon.sasl.conversation import Login
from kafka_lagoon.sasl.token import Source
from kafka_lagoon.secret import Secret

if TYPE_CHECKING:
    from kafka_lagoon.kafka_settings import KafkaSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A broker that a connection was opened to, and the settings to authenticate with."""

    settings: "KafkaSettings"
    host: str
    clock: Clock
    token_endpoint: Callable[["KafkaSettings"], Source]  # needs HTTP, which is in client/


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A SASL mechanism.

    `login` is called for every connection. It looks up the secrets, which therefore may be rotated, and raises ConfigError
    when a setting cannot be used; ConnectionFailed when a token cannot be fetched now, AuthenticationFailed when it is refused.
    """

    name: str  # Kafka's name of it
    login: Callable[[Peer], Login]
    sends_secret: bool  # the password or token itself goes to the broker, which TLS must prove
    needs: tuple[str, ...] = ()  # settings that must be set
    faults: Callable[["KafkaSettings"], Iterable[str]] = lambda _: ()  # other faults of its settings


def revealed(secret: Secret | None) -> str:
    """Return the value of a secret, empty if it is not set."""
    return secret.reveal() if secret else ""

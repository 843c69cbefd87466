"""Declares the SASL mechanisms: the settings that each needs, and whether it sends a secret.

The checks of the settings and the policy for addresses read nothing but these declarations. How each mechanism authenticates
is in `sasl/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from kafka_lagoon.frozen import frozen


@frozen
class Mechanism:
    """A SASL mechanism, by Kafka's name of it. Settings are named as in `KafkaSettings`."""

    name: str
    sends_secret: bool  # the password or token itself goes to the broker, which TLS must prove
    needs: Sequence[str] = ()  # settings that must be set
    needs_one_of: Sequence[str] = ()  # settings of which exactly one must be set
    needs_with: Mapping[str, Sequence[str]] = field(default_factory=dict)  # settings that must be set beside a setting
    local_only: Sequence[str] = ()  # settings for brokers on this machine


_USER = ("sasl_username", "sasl_password")
PLAIN = Mechanism(name="PLAIN", sends_secret=True, needs=_USER)
SCRAM_SHA_256 = Mechanism(name="SCRAM-SHA-256", sends_secret=False, needs=_USER)
SCRAM_SHA_512 = Mechanism(name="SCRAM-SHA-512", sends_secret=False, needs=_USER)
OAUTHBEARER = Mechanism(
    name="OAUTHBEARER",
    sends_secret=True,
    needs_one_of=(
        "sasl_oauthbearer_token",
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_oauthbearer_token_provider",
        "sasl_oauthbearer_unsecured_principal",
    ),
    needs_with={
        "sasl_oauthbearer_token_endpoint_url": ("sasl_oauthbearer_client_id", "sasl_oauthbearer_client_secret")
    },
    local_only=("sasl_oauthbearer_unsecured_principal",),
)
GSSAPI = Mechanism(name="GSSAPI", sends_secret=False)

# In the order of messages.
MECHANISMS: Mapping[str, Mechanism] = {
    mechanism.name: mechanism for mechanism in (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER, GSSAPI)
}


def mechanism_names() -> str:
    """Return the names of all mechanisms as messages list them."""
    *others, last = MECHANISMS
    return f"{', '.join(others)} or {last}"

"""Lists the SASL mechanisms. The order is that of messages."""

from collections.abc import Mapping

from kafka_lagoon.sasl.kerberos import GSSAPI
from kafka_lagoon.sasl.mechanism import Mechanism
from kafka_lagoon.sasl.oauthbearer import OAUTHBEARER
from kafka_lagoon.sasl.plain import PLAIN
from kafka_lagoon.sasl.scram import SCRAM_SHA_256, SCRAM_SHA_512

MECHANISMS: Mapping[str, Mechanism] = {
    mechanism.name: mechanism for mechanism in (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER, GSSAPI)
}


def mechanism_names() -> str:
    """Return the names of all mechanisms as messages list them."""
    *others, last = MECHANISMS
    return f"{', '.join(others)} or {last}"

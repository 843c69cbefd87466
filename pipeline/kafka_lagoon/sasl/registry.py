"""Lists the login of each SASL mechanism."""

from collections.abc import Callable, Mapping
from functools import partial

from kafka_lagoon.sasl import kerberos, oauthbearer, plain, scram
from kafka_lagoon.sasl.conversation import Login
from kafka_lagoon.sasl.peer import Peer
from kafka_lagoon.sasl_mechanisms import GSSAPI, OAUTHBEARER, PLAIN, SCRAM_SHA_256, SCRAM_SHA_512

# Called for every connection: secrets are looked up each time, so they may be rotated. ConfigError when a setting cannot be
# used, ConnectionFailed when a token cannot be fetched now, AuthenticationFailed when it is refused.
LOGINS: Mapping[str, Callable[[Peer], Login]] = {
    PLAIN.name: plain.login,
    SCRAM_SHA_256.name: partial(scram.login, SCRAM_SHA_256.name),
    SCRAM_SHA_512.name: partial(scram.login, SCRAM_SHA_512.name),
    OAUTHBEARER.name: oauthbearer.login,
    GSSAPI.name: kerberos.login,
}

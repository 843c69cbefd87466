"""Makes the SASL mechanism that the settings name, with its credentials, for one connection.

Secrets are looked up here, again for each connection, and nowhere before.
"""

from kafka_lagoon.client import keystores
from kafka_lagoon.client.sasl.conversation import Mechanism
from kafka_lagoon.client.sasl.kerberos import Kerberos
from kafka_lagoon.client.sasl.oauthbearer import OAuthBearer, read_extensions, unsecured
from kafka_lagoon.client.sasl.plain import Plain
from kafka_lagoon.client.sasl.scram import Scram
from kafka_lagoon.client.sasl.token import Source, Token, TokenCache
from kafka_lagoon.client.sasl.token_provider import TokenProvider
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.kafka_settings import KafkaSettings, is_loopback
from kafka_lagoon.secret import Secret

_TOKENS = TokenCache()


def mechanism_for(settings: KafkaSettings, host: str, clock: Clock) -> Mechanism:
    """The mechanism for one connection to the broker at `host`; OAUTHBEARER may fetch its token here.

    ConfigError when a setting cannot be used; ConnectionFailed when a token cannot be fetched now, AuthenticationFailed
    when it is refused.
    """
    match settings.sasl_mechanism:
        case "PLAIN":
            return Plain(username=settings.sasl_username or "", password=_revealed(settings.sasl_password))
        case "SCRAM-SHA-256" | "SCRAM-SHA-512" as name:
            return Scram(
                name=name,
                username=settings.sasl_username or "",
                password=_revealed(settings.sasl_password),
                delegation_token=settings.sasl_scram_tokenauth,
            )
        case "OAUTHBEARER":
            extensions = read_extensions(settings.sasl_oauthbearer_extensions)
            return OAuthBearer(token=_token(settings, host, clock), extensions=extensions)
        case "GSSAPI":
            return Kerberos(
                host=host.rstrip("."),
                service=settings.sasl_kerberos_service_name,
                principal=settings.sasl_kerberos_principal,
                keytab=settings.sasl_kerberos_keytab,
            )
        case None:
            raise ConfigError([f"security_protocol {settings.security_protocol} needs sasl_mechanism"])


def _token(settings: KafkaSettings, host: str, clock: Clock) -> Token:
    if settings.sasl_oauthbearer_token:
        return Token(settings.sasl_oauthbearer_token.reveal())
    if principal := settings.sasl_oauthbearer_unsecured_principal:
        if not is_loopback(host):
            raise ConfigError([f"sasl_oauthbearer_unsecured_principal: {host} is not this machine"])
        return unsecured(principal, clock)
    if function := settings.sasl_oauthbearer_token_provider:
        return _TOKENS.token(TokenProvider(function=function, host=host), clock)
    return _TOKENS.token(_endpoint(settings), clock)


def _endpoint(settings: KafkaSettings) -> Source:
    from kafka_lagoon.client.sasl.token_endpoint import TokenEndpoint, check_url  # noqa: PLC0415  20 ms for HTTP

    url = settings.sasl_oauthbearer_token_endpoint_url or ""
    check_url(url, settings.sasl_oauthbearer_allowed_urls)
    return TokenEndpoint(
        url=url,
        client_id=settings.sasl_oauthbearer_client_id or "",
        client_secret=_revealed(settings.sasl_oauthbearer_client_secret),
        scope=settings.sasl_oauthbearer_scope,
        certificates=keystores.trusted(settings),
    )


def _revealed(secret: Secret | None) -> str:
    return secret.reveal() if secret else ""

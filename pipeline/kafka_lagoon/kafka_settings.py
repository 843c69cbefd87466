"""Declares and checks the settings to reach a cluster: Kafka's own client properties in snake case.

Settings that would send a password in the clear, or to a server that was not verified, are refused here, before any I/O, unless
`allow_plaintext_credentials` is set.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Literal, get_args

from kafka_lagoon import jaas
from kafka_lagoon.addresses import is_loopback, parse_address
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.sasl.registry import MECHANISMS, mechanism_names
from kafka_lagoon.secret import Secret

ENV_PREFIX = "LAGOON_"  # of environment variables that are settings
_OTHER_VARIABLES = frozenset({"LAGOON_CACHE"})  # folder of jars and kernels: of the machine, not of a run
_TLS_VERSIONS = frozenset({"TLSv1.2", "TLSv1.3"})
_JAAS = "sasl_jaas_config"
# Properties of Java's login and cryptography, which make no difference to a listener.
_JAVA_ONLY = (
    "sasl.login.",
    "ssl.protocol",
    "ssl.provider",
    "ssl.trustmanager",
    "ssl.keymanager",
)
DEFAULT_CLUSTER = "default"  # name of the one cluster of [kafka]


def is_setting(variable: str) -> bool:
    """True if an environment variable is read as a setting."""
    return variable.startswith(ENV_PREFIX) and variable not in _OTHER_VARIABLES


def from_properties(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The settings among a Java client's properties, by our names; and a fault for each security property that we do not have.

    Other properties concern producers and consumers, and are left out.
    """
    named = {name.replace(".", "_"): (name, value) for name, value in properties.items()}
    ours = {key: value for key, (_, value) in named.items() if key in NAMES}
    faults = [
        f"{name}: not supported"
        for key, (name, _) in named.items()
        if key not in ours and name.startswith(("ssl.", "sasl.", "security.")) and not name.startswith(_JAVA_ONLY)
    ]
    return ours, faults


def _addresses(text: str) -> str:
    for part in text.split(","):
        parse_address(part)
    return text


def _tls_versions(text: str) -> str:
    if not {name.strip() for name in text.split(",")} <= _TLS_VERSIONS:
        raise ValueError(f"only {' and '.join(sorted(_TLS_VERSIONS))} are spoken")
    return text


@dataclass(frozen=True, slots=True)
class _Check:
    """A check of a value, after the check of its type, or before it so that its message replaces pydantic's."""

    check: Callable[[Any], Any]
    before: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415  see `checked`

        if self.before:
            return core_schema.no_info_before_validator_function(self.check, handler(source))
        return core_schema.no_info_after_validator_function(self.check, handler(source))


def _setting(default: Any = MISSING, *, description: str, **bounds: Any) -> Any:
    """A field; pydantic reads its description and bounds from the metadata."""
    return field(default=default, metadata={"description": description, **bounds})


def _store_type(value: Any) -> Any:
    if str(value).upper() == "JKS":
        raise ValueError(
            "JKS is for Java alone: keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 -deststoretype PKCS12"
        )
    return value


def _mechanism(value: Any) -> Any:
    if value is not None and value not in list(MECHANISMS):  # an array of TOML has no hash
        raise ValueError(f"must be {mechanism_names()}")
    return value


StoreType = Annotated[Literal["PEM", "PKCS12"], _Check(_store_type, before=True)]


@dataclass(frozen=True, kw_only=True)
class KafkaSettings:
    """Settings to reach one cluster. The names are Kafka's own, in snake case; times are in milliseconds.

    A secret is text, `env:NAME` or `file:/path`; the last two are looked up on the machine that connects.
    Made of plain values by `checked`; directly only of values that have the types of the fields.
    """

    __pydantic_config__ = {"extra": "forbid", "hide_input_in_errors": True, "arbitrary_types_allowed": True}  # noqa: RUF012

    bootstrap_servers: Annotated[str, _Check(_addresses)] = _setting(
        description="Comma-separated host:port of some brokers; the others are learned from them."
    )
    cluster_id: str | None = _setting(
        None,
        description="Kafka's id of the cluster (`lagoon kafka metadata` shows it); whatever connects is refused if it is "
        "another one.",
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = _setting(
        "PLAINTEXT", description="How the connection is protected: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
    )
    client_id: str = _setting("kafka-lagoon", description="Shown in the brokers' logs, metrics and quotas.")
    client_rack: str | None = _setting(None, description="Rack of this machine: records are read from a replica there.")
    request_timeout_ms: int = _setting(30_000, gt=0, description="Longest wait for one answer.")
    socket_connection_setup_timeout_ms: int = _setting(10_000, gt=0, description="Longest wait for one connection.")
    default_api_timeout_ms: int = _setting(60_000, gt=0, description="Longest time for one request, retries included.")
    retry_backoff_ms: int = _setting(100, gt=0, description="First pause before a retry; doubles, with jitter.")
    retry_backoff_max_ms: int = _setting(1_000, gt=0, description="Longest pause before a retry.")
    max_in_flight_requests_per_connection: int = _setting(
        5,
        gt=0,
        description="Most requests to a broker that wait for their answers; brokers before 3.5 get one with TLS.",
    )
    max_bytes_per_second: int | None = _setting(
        None,
        gt=0,
        description="Most bytes a second that one process exchanges with all brokers of the cluster, on average.",
    )
    receive_message_max_bytes: int = _setting(128 << 20, gt=0, description="Largest answer that is read.")
    allowed_brokers: str | None = _setting(
        None,
        description="Comma-separated patterns (`*.example.org`, `*:9093`) of the only addresses to connect to, "
        "whatever brokers advertise.",
    )

    ssl_truststore_location: str | None = _setting(
        None, description="File with the CAs to trust; without one, those of this machine."
    )
    ssl_truststore_type: StoreType | None = _setting(
        None, description="PEM or PKCS12; by default known from the file itself."
    )
    ssl_truststore_password: Secret | None = _setting(None, description="Password of a PKCS12 truststore.")
    ssl_truststore_certificates: str | None = _setting(
        None, description="The CAs themselves as PEM, instead of a file."
    )
    ssl_crl_location: str | None = _setting(None, description="PEM file of revoked certificates of the CAs.")
    ssl_keystore_location: str | None = _setting(
        None, description="File with the client's certificate chain and key, for listeners that require one."
    )
    ssl_keystore_type: StoreType | None = _setting(
        None, description="PEM or PKCS12; by default known from the file itself."
    )
    ssl_keystore_password: Secret | None = _setting(None, description="Password of a PKCS12 keystore.")
    ssl_keystore_certificate_chain: str | None = _setting(
        None, description="The client's certificate chain itself as PEM, instead of a file."
    )
    ssl_keystore_key: Secret | None = _setting(
        None, description="The client's private key itself as PEM, or `file:` of one beside the chain."
    )
    ssl_key_password: Secret | None = _setting(None, description="Password of an encrypted private key.")
    ssl_enabled_protocols: Annotated[str, _Check(_tls_versions)] = _setting(
        "TLSv1.2,TLSv1.3", description="Comma-separated versions of TLS that may be spoken: TLSv1.2, TLSv1.3."
    )
    ssl_endpoint_identification_algorithm: Literal["https", ""] = _setting(
        "https", description="Empty to accept certificates that name another host."
    )

    sasl_mechanism: Annotated[str, _Check(_mechanism, before=True)] | None = _setting(
        None, description=f"{mechanism_names()}."
    )
    sasl_username: str | None = _setting(None, description="User of PLAIN and SCRAM.")
    sasl_password: Secret | None = _setting(None, description="Password of PLAIN and SCRAM.")
    sasl_scram_tokenauth: bool = _setting(
        False, description="The user is the id of a delegation token, the password its HMAC."
    )
    sasl_jaas_config: Secret | None = _setting(
        None, description="A Java client's login module line, read into the settings around it."
    )
    sasl_oauthbearer_token_endpoint_url: str | None = _setting(
        None, description="Endpoint that gives tokens for client credentials; https."
    )
    sasl_oauthbearer_allowed_urls: str | None = _setting(
        None, description="Comma-separated URLs that may be asked for tokens."
    )
    sasl_oauthbearer_client_id: str | None = _setting(None, description="Client id at the token endpoint.")
    sasl_oauthbearer_client_secret: Secret | None = _setting(None, description="Its secret.")
    sasl_oauthbearer_scope: str | None = _setting(None, description="Scope to ask for.")
    sasl_oauthbearer_extensions: str | None = _setting(None, description="SASL extensions as name=value,...")
    sasl_oauthbearer_token: Secret | None = _setting(None, description="A token; whoever set it renews it.")
    sasl_oauthbearer_token_provider: str | None = _setting(
        None, description="module:function that gives tokens, for clouds with libraries of their own."
    )
    sasl_oauthbearer_unsecured_principal: str | None = _setting(
        None, description="Name in an unsigned token; only for brokers on this machine."
    )
    sasl_kerberos_service_name: str = _setting("kafka", description="First part of the brokers' Kerberos principals.")
    sasl_kerberos_principal: str | None = _setting(None, description="Our principal, if the keytab has several.")
    sasl_kerberos_keytab: str | None = _setting(
        None, description="Keytab file; without one, the tickets in the credential cache."
    )
    allow_plaintext_credentials: bool = _setting(
        False,
        description="Send credentials of PLAIN and OAUTHBEARER without TLS too; anybody on the network path can read them.",
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Tell pydantic how to check a section of the settings."""
        from pydantic_core import core_schema  # noqa: PLC0415  see `checked`

        return core_schema.no_info_before_validator_function(_with_jaas, handler(source))

    def __post_init__(self) -> None:
        self.addresses()
        if faults := [*self._sasl_faults(), *self._tls_faults()]:
            raise ValueError("; ".join(faults))

    def _sasl_faults(self) -> Iterator[str]:
        mechanism = self.sasl_mechanism
        if not self.uses_sasl():
            if mechanism:
                yield f"sasl_mechanism is set, but security_protocol {self.security_protocol} does not authenticate"
            return
        if not mechanism:
            yield f"security_protocol {self.security_protocol} needs sasl_mechanism"
            return
        for name in MECHANISMS[mechanism].needs:
            if not getattr(self, name):
                yield f"sasl_mechanism {mechanism} needs {name}"
        yield from MECHANISMS[mechanism].faults(self)
        if self.shows_secrets() and not self.allow_plaintext_credentials:
            if not self.uses_tls():
                yield (
                    f"{mechanism} without TLS shows its credentials to anybody on the network path: use SASL_SSL, "
                    f"or set allow_plaintext_credentials"
                )
            else:
                yield f"{mechanism} needs ssl_endpoint_identification_algorithm https, or allow_plaintext_credentials"

    def _tls_faults(self) -> Iterator[str]:
        given = [
            setting.name
            for setting in fields(self)
            if setting.name.startswith("ssl_") and getattr(self, setting.name) != setting.default
        ]
        if given and not self.uses_tls():
            yield f"{min(given)} is set, but security_protocol {self.security_protocol} uses no TLS"
        if self.ssl_truststore_location and self.ssl_truststore_certificates:
            yield "ssl_truststore_location and ssl_truststore_certificates exclude each other"
        if self.ssl_keystore_location and self.ssl_keystore_certificate_chain:
            yield "ssl_keystore_location and ssl_keystore_certificate_chain exclude each other"
        if self.ssl_keystore_certificate_chain and not self.ssl_keystore_key:
            yield "ssl_keystore_certificate_chain needs ssl_keystore_key"
        if self.ssl_keystore_key and not (self.ssl_keystore_certificate_chain or self.ssl_keystore_location):
            yield "ssl_keystore_key needs ssl_keystore_certificate_chain, or ssl_keystore_location without a key in it"

    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of every bootstrap server."""
        return tuple(parse_address(part) for part in self.bootstrap_servers.split(","))

    def is_local(self) -> bool:
        """True if every bootstrap server is on this machine."""
        return all(is_loopback(host) for host, _ in self.addresses())

    def uses_tls(self) -> bool:
        """True if connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    def tls_versions(self) -> tuple[str, ...]:
        """The versions of TLS that may be spoken."""
        return tuple(name.strip() for name in self.ssl_enabled_protocols.split(","))

    def uses_sasl(self) -> bool:
        """True if connections authenticate by SASL."""
        return self.security_protocol.startswith("SASL")

    def shows_secrets(self) -> bool:
        """True if authentication sends a password or token to a peer whose name no certificate proves."""
        if not self.uses_sasl() or not self.sasl_mechanism or not MECHANISMS[self.sasl_mechanism].sends_secret:
            return False
        return not (self.uses_tls() and self.ssl_endpoint_identification_algorithm)

    def secrets(self) -> tuple[Secret, ...]:
        """Every secret that is set."""
        values = (getattr(self, setting.name) for setting in fields(self))
        return tuple(value for value in values if isinstance(value, Secret))


NAMES = frozenset(setting.name for setting in fields(KafkaSettings))
SECRETS = frozenset(setting.name for setting in fields(KafkaSettings) if Secret in get_args(setting.type))


def checked(values: Mapping[str, Any]) -> KafkaSettings:
    """Settings from values as a file or the environment has them; pydantic's ValidationError lists every fault.

    pydantic is imported where settings or a desired state are read. That takes 0.1 s of processor time, twice as much as all
    else that a verb of `lagoon kafka` imports, and a verb that is given nothing but bootstrap servers has nothing to check.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(KafkaSettings).validate_python(dict(values))


def _with_jaas(values: Any) -> Any:
    """Replace `sasl_jaas_config` by the settings that it contains."""
    if not isinstance(values, dict) or not values.get(_JAAS):
        return values
    line = values[_JAAS]
    try:
        from_jaas = jaas.settings_of((line if isinstance(line, Secret) else Secret(str(line))).reveal())
    except (ValueError, ConfigError) as error:
        raise ValueError(f"{_JAAS}: {error}") from None
    return from_jaas | {name: value for name, value in values.items() if name != _JAAS}

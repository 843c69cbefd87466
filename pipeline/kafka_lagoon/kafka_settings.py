"""Declares and checks the settings to reach a cluster: Kafka's own client properties in snake case.

Settings that would send a password in the clear, or to a server that was not verified, are refused here, before any I/O, unless
`allow_plaintext_credentials` is set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from kafka_lagoon import jaas
from kafka_lagoon.addresses import is_loopback, parse_address
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.sasl_mechanisms import MECHANISMS, Mechanism, mechanism_names
from kafka_lagoon.secret import Secret
from kafka_lagoon.text import comma_separated

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ENV_PREFIX = "LAGOON_"  # of environment variables that are settings
CONF_VARIABLE = "LAGOON_CONF"  # the settings file where no option names one
# LAGOON_CACHE is the folder of jars and kernels: it belongs to the machine, not to a run.
_OTHER_VARIABLES = frozenset({"LAGOON_CACHE", CONF_VARIABLE})
_TLS_VERSIONS = frozenset({"TLSv1.2", "TLSv1.3"})
_JAAS = "sasl_jaas_config"
_TOKENAUTH = "sasl_scram_tokenauth"
_TRIMMED = "".join(map(chr, range(ord(" ") + 1)))  # by Java's String.trim
_UNSET = (None, "", Secret(""))
_ANONYMOUS = "User:ANONYMOUS"  # the principal of connections that authenticate by nothing
_WITH_USER = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
# Properties of Java's login and cryptography, which do not change the connection to a listener.
_JAVA_ONLY = (
    "sasl.login.",
    "ssl.protocol",
    "ssl.provider",
    "ssl.trustmanager",
    "ssl.keymanager",
)
LONGEST_MS = MOST_INT32  # Kafka's int, and the longest wait of poll(2)
DEFAULT_CLUSTER = "default"  # name of the cluster of [kafka]
BOTH_FORMS = (
    "[kafka] (also by --kafka-properties or --set) and [clusters.NAME] exclude each other: write [clusters.default] instead "
    "of [kafka], which keeps its history"
)
SERVERS_BESIDE_CLUSTERS = "-b beside [clusters.NAME]: --cluster NAME ({known}) says whose servers it replaces"
VARIABLE_BESIDE_CLUSTERS = (
    "LAGOON_KAFKA__... beside [clusters.NAME]: LAGOON_CLUSTERS__NAME__... ({known}) says whose setting it is"
)


def no_such_cluster(name: str, known: Iterable[str]) -> str:
    """Return the fault of a `--cluster` that the settings do not have."""
    return f"--cluster {name}: no such cluster in the settings ({', '.join(known)})"


def is_setting(variable: str) -> bool:
    """Return True if an environment variable is read as a setting."""
    return variable.startswith(ENV_PREFIX) and variable not in _OTHER_VARIABLES


def from_properties(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings in a Java client's properties, by their names here, and a fault for each unknown security property.

    Other properties are about producers and consumers, and are left out. Values are trimmed, as in ConfigDef.parseType.
    """
    named = {name.replace(".", "_"): (name, value.strip(_TRIMMED)) for name, value in properties.items()}
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


def _cluster_id(text: str) -> str:
    if not text:  # unset, it would let every cluster pass
        raise ValueError("is empty: leave it out, or give the id that `lagoon kafka metadata` shows")
    return text


def _tls_versions(text: str) -> str:
    if not {name.strip() for name in text.split(",")} <= _TLS_VERSIONS:
        raise ValueError(f"only {' and '.join(sorted(_TLS_VERSIONS))} are spoken")
    return text


@frozen(kw_only=False)
class _Check:
    """A check of a value, after the check of its type, or before it, so that its message replaces pydantic's."""

    check: Callable[[Any], Any]
    before: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415  see `checked`

        if self.before:
            return core_schema.no_info_before_validator_function(self.check, handler(source))
        return core_schema.no_info_after_validator_function(self.check, handler(source))


def _setting(default: Any = MISSING, *, description: str, **bounds: Any) -> Any:
    """Declare a field; pydantic reads its description and bounds from the metadata."""
    return field(default=default, metadata={"description": description, **bounds})


def _capital(value: Any) -> Any:
    """Return text in capitals: Java's clients ignore the case of these values."""
    return value.upper() if isinstance(value, str) else value


def _small(value: Any) -> Any:
    """Return text in small letters, for the same reason."""
    return value.lower() if isinstance(value, str) else value


def _store_type(value: Any) -> Any:
    if _capital(value) == "JKS":
        raise ValueError(
            "JKS is for Java alone: keytool -importkeystore -srckeystore FILE -destkeystore FILE.p12 -deststoretype PKCS12"
        )
    return _capital(value)


def _mechanism(value: Any) -> Any:
    if value is not None and value not in list(MECHANISMS):  # an array of TOML has no hash
        raise ValueError(f"must be {mechanism_names()}")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, bool):  # pydantic would take true for 1
        raise ValueError("must be a whole number")  # noqa: TRY004  pydantic makes a fault of ValueError alone
    return value


CommaSeparated = Annotated[str, _Check(comma_separated, before=True)]
Whole = Annotated[int, _Check(_whole, before=True)]
StoreType = Annotated[Literal["PEM", "PKCS12"], _Check(_store_type, before=True)]
Protocol = Annotated[Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], _Check(_capital, before=True)]


@dataclass(frozen=True, kw_only=True)
class KafkaSettings:
    """Settings to reach one cluster. The names are Kafka's own, in snake case; times are in milliseconds.

    A secret is text, `env:NAME` or `file:/path`; the last two are read on the machine that connects. `checked` makes an
    instance of plain values; the constructor needs values of the fields' types.
    """

    __pydantic_config__ = {"extra": "forbid", "hide_input_in_errors": True, "arbitrary_types_allowed": True}  # noqa: RUF012

    bootstrap_servers: Annotated[CommaSeparated, _Check(_addresses)] = _setting(
        description="Comma-separated host:port of one or more brokers, from which all other brokers are discovered."
    )
    cluster_id: Annotated[str, _Check(_cluster_id)] | None = _setting(
        None,
        description="Kafka's id of the cluster (`lagoon kafka metadata` shows it). Commands and jobs refuse to run if the "
        "cluster has another id.",
    )
    security_protocol: Protocol = _setting(
        "PLAINTEXT", description="Protocol of the listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
    )
    client_id: str = _setting(
        "kafka-lagoon", description="Name of this client in the brokers' logs, metrics and quotas."
    )
    client_rack: str | None = _setting(
        None, description="Rack of this machine: records are read from a replica in this rack."
    )
    request_timeout_ms: Whole = _setting(30_000, gt=0, le=LONGEST_MS, description="Longest wait for one response.")
    socket_connection_setup_timeout_ms: Whole = _setting(
        10_000,
        gt=0,
        le=LONGEST_MS,
        description="Longest wait for one connection; at first two seconds while there are others to try.",
    )
    default_api_timeout_ms: Whole = _setting(
        60_000,
        gt=0,
        le=LONGEST_MS,
        description="Longest time for one request, retries included; and for a whole command without `--timeout`.",
    )
    retry_backoff_ms: Whole = _setting(
        100, gt=0, le=LONGEST_MS, description="First pause before a retry; doubles, with jitter."
    )
    retry_backoff_max_ms: Whole = _setting(1_000, gt=0, le=LONGEST_MS, description="Longest pause before a retry.")
    max_in_flight_requests_per_connection: Whole = _setting(
        5,
        gt=0,
        description="Most requests of a connection that wait for their responses; with TLS one for brokers before 3.5.",
    )
    max_bytes_per_second: Whole | None = _setting(
        None,
        gt=0,
        description="Most bytes a second that one process exchanges with all brokers of the cluster, on average.",
    )
    receive_message_max_bytes: Whole = _setting(128 << 20, gt=0, description="Largest response that is read.")
    allowed_brokers: CommaSeparated | None = _setting(
        None,
        description="Comma-separated patterns (`*.example.org`, `*:9093`) of addresses; connections to other addresses that "
        "brokers advertise are refused.",
    )

    ssl_truststore_location: str | None = _setting(
        None, description="File with the CAs to trust; default: the CAs of this machine."
    )
    ssl_truststore_type: StoreType | None = _setting(
        None, description="PEM or PKCS12, as Java clients need it; the content of the file decides, not this setting."
    )
    ssl_truststore_password: Secret | None = _setting(None, description="Password of a PKCS12 truststore.")
    ssl_truststore_certificates: str | None = _setting(None, description="CAs to trust as PEM text, instead of a file.")
    ssl_crl_location: str | None = _setting(None, description="PEM file of revoked certificates of the CAs.")
    ssl_keystore_location: str | None = _setting(
        None, description="File with the client's certificate chain and key, for listeners that require one."
    )
    ssl_keystore_type: StoreType | None = _setting(
        None, description="PEM or PKCS12, as Java clients need it; the content of the file decides, not this setting."
    )
    ssl_keystore_password: Secret | None = _setting(None, description="Password of a PKCS12 keystore.")
    ssl_keystore_certificate_chain: str | None = _setting(
        None, description="The client's certificate chain as PEM text, instead of a file."
    )
    ssl_keystore_key: Secret | None = _setting(
        None, description="The client's private key as PEM text, or `file:` and the path of a PEM file."
    )
    ssl_key_password: Secret | None = _setting(None, description="Password of an encrypted private key.")
    ssl_enabled_protocols: Annotated[CommaSeparated, _Check(_tls_versions)] = _setting(
        "TLSv1.2,TLSv1.3", description="Comma-separated versions of TLS to allow: TLSv1.2, TLSv1.3."
    )
    ssl_endpoint_identification_algorithm: Annotated[Literal["https", ""], _Check(_small, before=True)] = _setting(
        "https", description="https: the certificate must name the broker's host; empty: it may name another host."
    )

    sasl_mechanism: Annotated[str, _Check(_mechanism, before=True)] | None = _setting(
        None, description=f"{mechanism_names()}."
    )
    sasl_username: str | None = _setting(None, description="User of PLAIN and SCRAM.")
    sasl_password: Secret | None = _setting(None, description="Password of PLAIN and SCRAM.")
    sasl_scram_tokenauth: bool = _setting(
        False, description="True if sasl_username is the id of a delegation token, and sasl_password its HMAC."
    )
    sasl_jaas_config: Secret | None = _setting(
        None,
        description="Login module line of a Java client; its values become the other sasl settings. The line may be "
        "`env:NAME` or `file:/path` as a whole; values in it are literal.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = _setting(
        None, description="URL (https) of the endpoint that issues tokens for client credentials."
    )
    sasl_oauthbearer_allowed_urls: CommaSeparated | None = _setting(
        None, description="Comma-separated URLs from which tokens may be requested."
    )
    sasl_oauthbearer_client_id: str | None = _setting(None, description="Client id at the token endpoint.")
    sasl_oauthbearer_client_secret: Secret | None = _setting(None, description="Its secret.")
    sasl_oauthbearer_scope: str | None = _setting(None, description="Scope of the requested token.")
    sasl_oauthbearer_extensions: str | None = _setting(None, description="SASL extensions as name=value,...")
    sasl_oauthbearer_token: Secret | None = _setting(
        None, description="A token. It is not renewed here; as `file:/path` or `env:NAME` it is read at each login."
    )
    sasl_oauthbearer_token_provider: str | None = _setting(
        None, description="module:function that returns tokens, for clouds with their own libraries."
    )
    sasl_oauthbearer_unsecured_principal: str | None = _setting(
        None, description="Principal of an unsigned token; only for brokers on this machine."
    )
    sasl_kerberos_service_name: str = _setting(
        "kafka", description="Primary (first part) of the brokers' Kerberos principals."
    )
    sasl_kerberos_principal: str | None = _setting(
        None, description="Principal of this client, if the keytab has several."
    )
    sasl_kerberos_keytab: str | None = _setting(
        None, description="Keytab file; default: the tickets in the credential cache."
    )
    allow_plaintext_credentials: bool = _setting(
        False,
        description="Allow PLAIN and OAUTHBEARER without TLS, or without the check of the broker's name: anybody on the "
        "network path can read the credentials.",
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Tell pydantic how to check a section of the settings."""
        from pydantic_core import core_schema  # noqa: PLC0415  see `checked`

        return core_schema.no_info_before_validator_function(with_login, handler(source))

    def __post_init__(self) -> None:
        self.addresses()
        if faults := [*self._sasl_faults(), *self._tls_faults()]:
            raise ValueError("; ".join(faults))

    def login_settings(self) -> "KafkaSettings":
        """Return these settings with those of `sasl_jaas_config` in its place; ConfigError if that cannot be used.

        A reference is resolved, so call it where a connection is made.
        """
        if self.sasl_jaas_config is None:
            return self
        given = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        try:
            return replace(self, **_with_line(given, self.sasl_jaas_config.reveal()))
        except ValueError as error:
            raise ConfigError([str(error)]) from None

    def _sasl_faults(self) -> Iterator[str]:
        mechanism = self.sasl_mechanism
        if not self.uses_sasl():
            if mechanism:
                yield f"sasl_mechanism is set, but security_protocol {self.security_protocol} does not authenticate"
            return
        if not mechanism:
            yield f"security_protocol {self.security_protocol} needs sasl_mechanism"
            return
        if self.sasl_jaas_config is None:
            yield from self._faults_of(MECHANISMS[mechanism])
        if self.shows_secrets() and not self.allow_plaintext_credentials:
            if not self.uses_tls():
                yield (
                    f"{mechanism} without TLS shows its credentials to anybody on the network path: use SASL_SSL, "
                    f"or set allow_plaintext_credentials"
                )
            else:
                yield f"{mechanism} needs ssl_endpoint_identification_algorithm https, or allow_plaintext_credentials"

    def _faults_of(self, mechanism: Mechanism) -> Iterator[str]:
        for name in mechanism.needs:
            if getattr(self, name) in _UNSET:
                yield f"sasl_mechanism {mechanism.name} needs {name}"
        given = [name for name in mechanism.needs_one_of if getattr(self, name) not in _UNSET]
        if mechanism.needs_one_of and len(given) != 1:
            one_of = ", ".join(mechanism.needs_one_of)
            yield f"{mechanism.name} needs one of {one_of}, and has {' and '.join(given) or 'none'}"
        for setting, others in mechanism.needs_with.items():
            for name in others:
                if getattr(self, setting) and getattr(self, name) in _UNSET:
                    yield f"{setting} needs {name}"
        for name in mechanism.local_only:
            if getattr(self, name) and not self.is_local():
                yield f"{name} is for brokers on this machine only"

    def _tls_faults(self) -> Iterator[str]:
        given = [
            setting.name
            for setting in fields(self)
            if setting.name.startswith("ssl_")
            and getattr(self, setting.name) not in (_UNSET if setting.default is None else (setting.default,))
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
        """Return host and port of every bootstrap server."""
        return tuple(parse_address(part) for part in self.bootstrap_servers.split(","))

    def is_local(self) -> bool:
        """Return True if every bootstrap server is on this machine."""
        return all(is_loopback(host) for host, _ in self.addresses())

    def uses_tls(self) -> bool:
        """Return True if connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    def tls_versions(self) -> tuple[str, ...]:
        """Return the allowed versions of TLS."""
        return tuple(name.strip() for name in self.ssl_enabled_protocols.split(","))

    def uses_sasl(self) -> bool:
        """Return True if connections authenticate by SASL."""
        return self.security_protocol.startswith("SASL")

    def principal(self) -> str | None:
        """Return the principal that brokers make of the user name; None if it comes from a certificate, ticket or token.

        ConfigError as `login_settings`.
        """
        if not self.uses_sasl():
            has_certificate = self.ssl_keystore_location or self.ssl_keystore_certificate_chain
            return None if self.uses_tls() and has_certificate else _ANONYMOUS
        login = self.login_settings()
        is_named = login.sasl_mechanism in _WITH_USER and not login.sasl_scram_tokenauth
        return f"User:{login.sasl_username}" if is_named and login.sasl_username else None

    def shows_secrets(self) -> bool:
        """Return True if authentication sends a password or token to a server whose name is not verified by a certificate."""
        if not self.uses_sasl() or not self.sasl_mechanism or not MECHANISMS[self.sasl_mechanism].sends_secret:
            return False
        return not (self.uses_tls() and self.ssl_endpoint_identification_algorithm)

    def secrets(self) -> tuple[Secret, ...]:
        """Return every secret that is set."""
        values = (getattr(self, setting.name) for setting in fields(self))
        return tuple(value for value in values if isinstance(value, Secret))


NAMES = frozenset(setting.name for setting in fields(KafkaSettings))
SECRETS = frozenset(setting.name for setting in fields(KafkaSettings) if Secret in get_args(setting.type))

_NO_LOGIN = {setting.name: setting.default for setting in fields(KafkaSettings) if setting.name in jaas.LOGIN_SETTINGS}


def checked(values: Mapping[str, Any]) -> KafkaSettings:
    """Make settings of values from a file or the environment; pydantic's ValidationError lists every fault.

    pydantic is imported where settings or a desired state are read. The import takes 0.1 s of processor time, twice as long as
    all other imports of a verb of `lagoon kafka`, and a verb with bootstrap servers alone has nothing to check.
    """
    return _adapter().validate_python(dict(values))


@cache
def _adapter() -> "TypeAdapter[KafkaSettings]":
    """Pydantic's check of the settings; it takes longer to make than to use."""
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(KafkaSettings)


def with_login(values: Any) -> Any:
    """Return the settings that one source has for a cluster, with those of a JAAS line in its place.

    The line of a later source overrides a login as a whole, so that two identities are not mixed: settings of logins that the
    line does not have get their defaults. Only a line that names no login leaves them, which is not known of a reference.
    Settings of a later source unset a line that is a reference. ValueError names faults.
    """
    if not isinstance(values, dict):
        return values
    line = values.get(_JAAS)
    if isinstance(line, str) and Secret(line).is_text():
        return _with_line(values, line)
    if line not in (None, ""):  # a reference, which is resolved where a connection is made
        return _NO_LOGIN | values
    return {**values, _JAAS: None} if values.keys() & {_JAAS, *jaas.LOGIN_SETTINGS} else values


def _with_line(values: Mapping[str, Any], line: str) -> dict[str, Any]:
    try:
        of_line = {name: _typed(name, text, Secret.literal) for name, text in jaas.settings_of(line).items()}
    except ValueError as error:
        raise ValueError(f"{_JAAS}: {error}") from None
    for name, value in of_line.items():
        if name in values and _typed(name, values[name], Secret) != value:
            raise ValueError(f"{_JAAS}: sets {name} to another value than the setting beside it: keep one of them")
    # The bare line of a login module names no identity.
    others = _NO_LOGIN if of_line.keys() & jaas.LOGIN_SETTINGS else {}
    return {**others, **values, **of_line, _JAAS: None}


def _typed(name: str, value: Any, secret: Callable[[str], Secret]) -> Any:
    """Return a value of a setting in the type that it has; Java takes any text but `true` for false."""
    if name in SECRETS and isinstance(value, str):
        return secret(value)
    return str(value).lower() == "true" if name == _TOKENAUTH else value

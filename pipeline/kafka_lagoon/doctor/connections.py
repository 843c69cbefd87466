"""Connects to each bootstrap server and each broker of a cluster as the jobs do: TCP, TLS, ApiVersions, SASL."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka_lagoon.admin.releases import kafka_version_range
from kafka_lagoon.client.access import access_to
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.policy import admit
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.client.session import Access, Session
from kafka_lagoon.clock import Clock, Deadline
from kafka_lagoon.doctor.certificates import of_broker
from kafka_lagoon.doctor.results import Check, Result
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    ConnectionFailed,
    DeadlinePassed,
    PipelineError,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.fetch import FETCH

_AT_ONCE = 16
_CERTIFICATE = "certificate"
_RECORDS_FETCH = 4  # Fetch v4 came with Kafka 0.11, the oldest release that the jobs read
_TO_DO = {
    "resolve": "check the name in kafka.bootstrap_servers, or the broker's advertised.listeners",
    "connect": "check that the broker runs, that host and port are those of its listener, and that no firewall is between",
    "exchange": "look into the broker's log",
}


@frozen
class Server:
    """An address to connect to; `node_id` is None of a bootstrap server."""

    node_id: int | None
    host: str
    port: int

    def subject(self, cluster: str) -> str:
        """The subject of a result about the server."""
        name = "bootstrap server" if self.node_id is None else f"broker {self.node_id}"
        return f"{cluster}: {name} {self.host}:{self.port}"


def access(kafka: KafkaSettings, clock: Clock) -> Access:
    """The access that all checks share; ConfigError if a truststore or keystore cannot be used."""
    return access_to(kafka, clock, RequestStats())


def bootstrap_servers(kafka: KafkaSettings) -> Sequence[Server]:
    """The addresses that the settings name."""
    return [Server(node_id=None, host=host, port=port) for host, port in kafka.addresses()]


def brokers(cluster: Cluster) -> Sequence[Server]:
    """The addresses that the brokers advertise."""
    return [
        Server(node_id=node_id, host=broker.host, port=broker.port)
        for node_id, broker in sorted(cluster.brokers.items())
    ]


def connect_each(
    name: str,
    servers: Sequence[Server],
    shared: Access,
    deadline: Deadline,
    known: Collection[tuple[str, int]] = (),
) -> Iterator[Result]:
    """Connect to all servers of a cluster, several at once; results in their order. `known` addresses give no certificates."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for server, results in zip(
            servers, threads.map(lambda server: list(_connect(name, server, shared, deadline)), servers), strict=True
        ):
            is_known = (server.host, server.port) in known
            yield from (one for one in results if not (is_known and one.check == _CERTIFICATE))


def _connect(name: str, server: Server, shared: Access, deadline: Deadline) -> Iterator[Result]:
    subject, kafka = server.subject(name), shared.settings
    check = Check("connection", subject)
    try:
        if server.node_id is not None:
            admit(kafka, server.host, server.port)
        limit = deadline.within(kafka.socket_connection_setup_timeout_ms)
        session = Session.open(server.node_id, server.host, server.port, shared, limit)
    except PipelineError as error:
        yield check.failed(_without_address(error), _to_do(error, kafka))
        return
    try:
        yield _connected(check, session, kafka)
        if tls := session.tls:
            yield from of_broker(Check(_CERTIFICATE, subject), tls.chain, shared.clock.now_ms())
    finally:
        session.close()


def _connected(check: Check, session: Session, kafka: KafkaSettings) -> Result:
    """The result for an open connection: it fails if the broker is too old."""
    tls, versions = session.tls, session.versions
    release = kafka_version_range([versions] if versions else []) or "an unknown release"
    parts = [tls.version if tls else "without TLS", f"SASL {kafka.sasl_mechanism}" if kafka.uses_sasl() else "no login"]
    observed = f"{', '.join(parts)}; Kafka {release}"
    highest = {api.api_key: api.max_version for api in versions.api_keys} if versions else {}
    if highest.get(FETCH.key, 0) < _RECORDS_FETCH:
        return check.failed(f"{observed}, too old for the jobs", "use Kafka 0.11 or newer")
    return check.ok(observed)


def _without_address(error: PipelineError) -> str:
    """The phase and the reason; the address is in the subject."""
    if isinstance(error, ConnectionFailed):
        return f"{error.phase}: {error.reason}{error.hint}"
    return str(error)


def _to_do(error: PipelineError, kafka: KafkaSettings) -> str | None:
    """The advice for an error that does not contain it."""
    match error:
        case AddressRefused():
            return None
        case AuthenticationFailed():
            return f"check user, password or token of {kafka.sasl_mechanism}"
        case DeadlinePassed(phase="handshake"):
            return "is this a Kafka listener? one that wants TLS does not answer without it: see security_protocol"
        case ConnectionFailed(phase=phase):
            return _TO_DO.get(phase)
        case _:
            return None

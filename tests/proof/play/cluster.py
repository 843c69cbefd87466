"""The brokers of histories, the proxies that jobs reach them through, and a bucket for tables."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import ResourceType

from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from tests.integration import every_broker
from tests.integration.releases import NEWEST, OLDEST
from tests.object_store import ObjectStore, object_store
from tests.proof.brokers import acl
from tests.proof.network import Network, Networks

CLIENTS, PEERS = "CLIENTS", "PEERS"
_AUTHORIZERS = {
    True: "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    False: "kafka.security.authorizer.AclAuthorizer",  # on ZooKeeper
}
_PROPERTIES = {
    "super.users": "User:ANONYMOUS",  # brokers, producers and the judge; jobs log in
    "inter.broker.listener.name": PEERS,
    "auto.leader.rebalance.enable": "false",  # a leader that moves by itself may do so after the last snapshot
    "log.initial.task.delay.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "listener.name.clients.scram-sha-512.connections.max.reauth.ms": "5000",  # a rotated password soon matters to those who run
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster3:
    """Three brokers, and the proxies through which jobs reach them, and they reach each other and the controllers."""

    kafka: LocalKafka
    networks: Networks
    folder: Path
    stack: ExitStack
    _stores: list[ObjectStore] = field(default_factory=list)

    def store(self) -> ObjectStore:
        """Return a bucket of an S3 that lives as long as the brokers."""
        if not self._stores:
            folder = Path(tempfile.mkdtemp(prefix="store-", dir=self.folder))  # a cluster before may have had one
            self._stores.append(self.stack.enter_context(object_store(folder)))
        return self._stores[0]


@contextmanager
def cluster(folder: Path, release: str = NEWEST) -> Iterator[Cluster3]:
    """Run three brokers of a release for any number of histories."""
    on_kraft = release != OLDEST
    properties = {**_PROPERTIES, "authorizer.class.name": _AUTHORIZERS[on_kraft]}
    with Network() as clients, Network() as peers, Network() as controllers, ExitStack() as stack:
        listeners = [Listener(CLIENTS, "SASL_PLAINTEXT", clients.front), Listener(PEERS, "PLAINTEXT", peers.front)]
        with LocalKafka(
            folder / "kafka",
            version=release,
            brokers=3,
            listeners=listeners,
            properties=properties,
            log_dirs=2,
            controllers=controllers.front if on_kraft else None,
        ) as kafka:
            kinds = (
                (ResourceType.TOPIC, "*"),
                (ResourceType.GROUP, "*"),
                (ResourceType.BROKER, "kafka-cluster"),
                (ResourceType.TRANSACTIONAL_ID, "*"),
            )
            every_broker.create_acls(kafka.bootstrap_servers, [acl(kind, name) for kind, name in kinds])
            networks = Networks(clients=clients, peers=peers, controllers=controllers)
            yield Cluster3(kafka=kafka, networks=networks, folder=folder, stack=stack)

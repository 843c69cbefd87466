"""The brokers of histories, and the proxies that jobs reach them through."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import ResourceType

from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from tests.integration import every_broker
from tests.proof.brokers import acl
from tests.proof.jobs import PASSWORD, USER
from tests.proof.network import Network

CLIENTS = "CLIENTS"
_PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # brokers, producers and the judge; jobs log in
    "log.initial.task.delay.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "listener.name.clients.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'user_{USER}="{PASSWORD}";',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster3:
    """Three brokers, and the proxies that jobs reach them through."""

    kafka: LocalKafka
    network: Network
    folder: Path


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster3]:
    """Run three brokers for any number of histories."""
    with Network() as network:
        listener = Listener(CLIENTS, "SASL_PLAINTEXT", network.front)
        with LocalKafka(folder / "kafka", brokers=3, listeners=[listener], properties=_PROPERTIES) as kafka:
            kinds = ((ResourceType.TOPIC, "*"), (ResourceType.GROUP, "*"), (ResourceType.BROKER, "kafka-cluster"))
            every_broker.create_acls(kafka.bootstrap_servers, [acl(kind, name) for kind, name in kinds])
            yield Cluster3(kafka=kafka, network=network, folder=folder)

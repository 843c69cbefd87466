"""Starts a cluster that tests alter: three brokers with permissions, racks, and two log directories each.

Whoever comes to the plain listener is a super user. Listener SCRAM tells who comes: `limited` may do what a test allows, and
nothing at first. The quorum is dynamic, so voters can be removed and added. Kafka's own tools run in one JVM.

Tests make resources under names of their own, and undo what they changed of brokers and of the cluster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.sandbox.node import Listener
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.secured import LIMITED, PASSWORD
from tests.integration.tools_in_one import ToolsInOne
from tests.set_options import set_options

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "false",
    "delegation.token.secret.key": PASSWORD,
    "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.scram.scram-sha-256.sasl.jaas.config": _SCRAM,
    "listener.name.scram.scram-sha-512.sasl.jaas.config": _SCRAM,
}


@dataclass(frozen=True)
class Administered:
    """The cluster, and Kafka's tools."""

    kafka: LocalKafka
    tools: ToolsInOne

    @property
    def bootstrap_servers(self) -> str:
        """Return the listener on which every user is a super user."""
        return self.kafka.bootstrap_servers

    def tool(self, main_class: str, *arguments: str) -> str:
        """Return the output of one of Kafka's tools, named by its class: org.apache.kafka.tools.TopicCommand.

        The broker that answers the tool knows all earlier changes.
        """
        every_broker.have_applied_changes(self.bootstrap_servers)
        return self.tools.run(main_class, "--bootstrap-server", self.bootstrap_servers, *arguments)

    def settings(self, user: str | None = None, password: str = PASSWORD) -> dict[str, str]:
        """Make settings for a user of listener SCRAM, or for a super user."""
        if user is None:
            return {"bootstrap_servers": self.bootstrap_servers}
        return {
            "bootstrap_servers": self.kafka.bootstrap("SCRAM"),
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": user,
            "sasl_password": password,
        }

    def arguments(self, user: str | None = None, password: str = PASSWORD) -> list[str]:
        """Make the same settings as options: `--set kafka.NAME=VALUE` each."""
        return set_options(self.settings(user, password))

    @contextmanager
    def cluster(self, user: str | None = None) -> Iterator[Cluster]:
        """Return our client, connected."""
        with Cluster.connect(checked(self.settings(user)), CLOCK, RequestStats(), soon()) as cluster:
            yield cluster

    @cached_property
    def admin(self) -> AdminClient:
        """Return librdkafka's client, as a super user."""
        return AdminClient({"bootstrap.servers": self.bootstrap_servers})


def soon() -> Deadline:
    """Make a deadline that passes only if the code under test is broken."""
    return Deadline.after(CLOCK, 30_000)


@contextmanager
def administered_kafka(folder: Path, tools: ToolsInOne) -> Iterator[Administered]:
    """Run the cluster with its user `limited`."""
    with LocalKafka(
        folder,
        racks=("a", "b", "c"),
        listeners=[Listener("SCRAM", "SASL_PLAINTEXT")],
        properties=_PROPERTIES,
        log_dirs=2,
        dynamic_quorum=True,
    ) as kafka:
        made = Administered(kafka, tools)
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        user = UserScramCredentialUpsertion(LIMITED, credential, PASSWORD.encode())
        every_broker.create_users(made.bootstrap_servers, [user])
        yield made

"""The brokers of a history: they are killed, cut off, led by others, closed to a user, slowed down, and made whole again."""

import resource
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka_lagoon.admin.elections import elect_leaders
from kafka_lagoon.admin.quorum import describe_quorum, quorum_partitions
from kafka_lagoon.admin.quotas import alter_client_quotas
from kafka_lagoon.admin.reassignments import alter_reassignments
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol.messages.elect_leaders import PREFERRED
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.releases import OLDEST
from tests.proof.jobs import USER
from tests.proof.network import Networks, Rule
from tests.proof.oracle import Kafka

CONTROLLER = 0  # in place of a broker's id: whichever node is the active controller
_OF_USER = (("user", USER),)
_TIMEOUT_MS = 20_000
_QUOTAS = ("consumer_byte_rate", "request_percentage")


class Brokers:
    """The brokers, and the faults that are on them until `mend`; `happened` counts faults when they are seen to be there."""

    def __init__(self, kafka: LocalKafka, networks: Networks, happened: Counter[str]) -> None:
        self._kafka, self._networks, self._happened = kafka, networks, happened
        self._servers = kafka.bootstrap_servers
        self._reader = Kafka(self._servers)
        self._is_slow = False
        self.down: set[int] = set()
        self._failed: dict[int, Path] = {}  # log dirs, by node id
        self.revoked: dict[str, str] = {}  # names of topics, by id

    def signal(self, action: str, node_id: int) -> None:
        """Kill, stop or pause a broker, if the others are up."""
        if self.down:
            return
        name = "controller" if node_id == CONTROLLER else "broker"
        node_id = node_id or self._controller()
        self.down.add(node_id)
        {"kill": self._kafka.kill, "stop": self._kafka.stop, "pause": self._kafka.pause}[action](node_id)
        self._happened[f"{name} {action}"] += 1

    def _controller(self) -> int:
        with self._client() as (client, deadline):
            if self._is_on_zookeeper:
                return client.ask_any(METADATA, MetadataRequest(topics=()), deadline).controller_id
            quorum = describe_quorum(client, deadline)
            assert not isinstance(quorum, Failure), quorum
            (metadata,) = quorum_partitions(quorum)
            return metadata.leader_id

    @property
    def _is_on_zookeeper(self) -> bool:
        return self._kafka.version == OLDEST

    def break_connections(self, rule: Rule) -> None:
        """Let proxies break what they pass on."""
        self._networks.clients.add(rule)

    def cut_off(self, node_id: int, side: str) -> None:
        """Cut a broker, or the active controller (0), off from the other brokers or from the controllers, if all are up."""
        if self.down or (side == "controllers" and self._is_on_zookeeper):
            return
        node_id = node_id or self._controller()
        self.down.add(node_id)
        self._networks.cut_off(node_id, side)

    def fail_log_dir(self, node_id: int) -> None:
        """Take a log dir away from a broker that goes on with its other one, as when a disk fails."""
        if self.down:
            return
        self.down.add(node_id)
        folder = self._kafka.data_folders(node_id)[-1]
        self._failed[node_id] = folder
        folder.rename(folder.with_suffix(".gone"))
        folder.touch()  # the broker would create the folder again
        # Brokers notice it when they write the next checkpoint, within five seconds.
        gone = f"Stopping serving logs in dir {folder}"
        every_broker.wait_until(lambda: gone in self._kafka.log(node_id).read_text("utf-8", "replace"), gone)
        self._happened["log dir failed"] += 1

    def fill_disk(self, node_id: int) -> None:
        """Let no file of a broker grow, as on a full disk: its writes fail in each log dir, and it ends by itself."""
        pid = self._kafka.pid(node_id)
        if self.down or pid is None:
            return
        self.down.add(node_id)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        every_broker.wait_until(lambda: self._kafka.pid(node_id) is None, f"broker {node_id} goes on with full disks")
        self._happened["disk full"] += 1

    def move_leaders(self, topic: str, what: str) -> None:
        """Let another replica lead each partition of a topic."""
        if self.down:
            return
        with suppress(KafkaException, PipelineError, KeyError):
            description = self._reader.describe([topic])[topic]
            before = {partition.id: partition.leader.id for partition in description.partitions}
            targets = {
                TopicPartition(topic, partition.id): [*ids[1:], ids[0]]
                for partition in description.partitions
                if len(ids := [node.id for node in partition.replicas]) > 1
            }
            with self._client() as (client, deadline):
                alter_reassignments(client, targets, deadline)
                elect_leaders(client, list(targets), PREFERRED, deadline)
            time.sleep(0.5)
            description = self._reader.describe([topic])[topic]
            self._happened[what] += sum(one.leader.id != before[one.id] for one in description.partitions)

    def revoke(self, topic_id: str, topic: str, operation: str) -> bool:
        """Deny the user of the jobs an operation on a topic; return True if it is denied now."""
        if self.down:
            return False
        denied = acl(ResourceType.TOPIC, topic, AclOperation[operation], AclPermissionType.DENY)
        every_broker.create_acls(self._servers, [denied])
        self.revoked[topic_id] = topic
        self._happened[f"{operation} revoked"] += 1
        return True

    def slow_down(self, kb_per_second: int, percent: int) -> None:
        """Limit what the user of the jobs gets of each broker: bytes, and time of its threads."""
        if self.down:
            return
        self._set_quotas(kb_per_second * 1024.0, float(percent))
        self._is_slow = True
        self._happened["quotas"] += 1

    @contextmanager
    def _client(self) -> Iterator[tuple[Cluster, Deadline]]:
        deadline = Deadline.after(CLOCK, _TIMEOUT_MS)
        settings = KafkaSettings(bootstrap_servers=self._servers)
        with Cluster.connect(settings, CLOCK, RequestStats(), deadline) as client:
            yield client, deadline

    def _set_quotas(self, *limits: float | None) -> None:
        with self._client() as (client, deadline):
            changed = alter_client_quotas(client, {_OF_USER: dict(zip(_QUOTAS, limits, strict=True))}, deadline)
            assert not changed.failures, changed.failures

    def mend(self) -> None:
        """End every fault."""
        self._happened.update(self._networks.mend())
        self.start()
        for name in self.revoked.values():
            denied = AclBindingFilter(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                None,
                None,
                AclOperation.ANY,
                AclPermissionType.DENY,
            )
            every_broker.delete_acls(self._servers, denied)
        self.revoked.clear()
        if self._is_slow:
            self._set_quotas(None, None)
            self._is_slow = False

    def start(self) -> None:
        """Start what was killed or stopped, and continue what was paused."""
        for node_id, folder in self._failed.items():
            self._kafka.kill(node_id)  # it never reads a log dir again that it has stopped serving
            folder.unlink()
            folder.with_suffix(".gone").rename(folder)
        self._failed.clear()
        for node_id in self._kafka.node_ids:
            if self._kafka.pid(node_id) is None:
                self._kafka.start(node_id)
            elif node_id in self.down:
                self._kafka.resume(node_id)  # harmless if it was cut off
        self.down.clear()


def acl(
    kind: ResourceType,
    name: str,
    operation: AclOperation = AclOperation.ALL,
    permission: AclPermissionType = AclPermissionType.ALLOW,
) -> AclBinding:
    """Make an ACL for the user of the jobs."""
    return AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{USER}", "*", operation, permission)

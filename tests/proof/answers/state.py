"""Makes three brokers whose answers fill every table: topics and groups of every shape, transactions, permissions, quotas, a move."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_lagoon.admin.quotas import alter_client_quotas
from kafka_lagoon.admin.reassignments import alter_reassignments
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.state import create_topics, every_shape, sharing
from tests.integration.streams_members import streams_members

TARGET = "answers-target"  # an empty topic, which a restore writes to
MOVED = "moved"  # its partition is being moved
_THROTTLED, _RATE = "follower.replication.throttled.replicas", "follower.replication.throttled.rate"
_OPEN_MS = 6 * 3_600_000  # longer than all alterations take
_PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "false",
    # Each internal topic has as many partitions as brokers: their number adds time and no new answer.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "transaction.max.timeout.ms": str(_OPEN_MS),
    # Members that send no heartbeats stay.
    "group.streams.session.timeout.ms": str(_OPEN_MS),
    "group.streams.max.session.timeout.ms": str(_OPEN_MS),
    # What brokers write, or delete, by themselves in internal topics moves the ends of their logs.
    "offsets.retention.check.interval.ms": str(_OPEN_MS),
    "share.coordinator.cold.partition.snapshot.interval.ms": str(_OPEN_MS),
    "share.coordinator.state.topic.prune.interval.ms": str(_OPEN_MS),
}


@contextmanager
def brokers(folder: Path) -> Iterator[str]:
    """Run the brokers, and yield their addresses once every answer that depends on the state stays the same."""
    with LocalKafka(folder, racks=("a", "b", "c"), properties=_PROPERTIES, log_dirs=2) as kafka, ExitStack() as stack:
        servers = kafka.bootstrap_servers
        stack.enter_context(every_shape(servers, 3, with_new_protocol=True))
        create_topics(servers, [NewTopic("shared", 2, 3), NewTopic("payments", 2, 3), NewTopic(TARGET, 1, 3)])
        stack.enter_context(sharing(servers, "sharers", "shared"))
        stack.enter_context(streams_members(servers, "streaming", "shared", ["one", "two"]))
        stack.enter_context(_transactions(servers))
        _move(servers, kafka.node_ids)  # before a quota slows its records down
        _secure(servers)
        every_broker.have_applied_changes(servers)
        yield servers


@contextmanager
def _transactions(servers: str) -> Iterator[None]:
    """Make an aborted and a committed transaction, and one that stays open."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "payer", "transaction.timeout.ms": _OPEN_MS})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce("payments", b"v", partition=partition)
        end(30)
    producer.begin_transaction()
    producer.produce("payments", b"open", partition=1)
    producer.flush(30)
    yield


def _move(servers: str, node_ids: Sequence[int]) -> None:
    """Begin to move a partition, slowly, and with more records than a replica fetches at once: the move does not end."""
    kept, leaving, coming = node_ids
    create_topics(servers, [NewTopic(MOVED, 1, replica_assignment=[[kept, leaving]], config={_THROTTLED: "*"})])
    producer = Producer({"bootstrap.servers": servers})
    for _ in range(40):
        producer.produce(MOVED, b"v" * 100_000)
    assert producer.flush(30) == 0
    slow = [ConfigEntry(_RATE, "1", incremental_operation=AlterConfigOpType.SET)]
    admin = AdminClient({"bootstrap.servers": servers})
    for node_id in node_ids:
        limit = ConfigResource(ResourceType.BROKER, str(node_id), incremental_configs=slow)
        admin.incremental_alter_configs([limit])[limit].result(30)
    every_broker.goes_by(servers, _RATE, "1")
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(KafkaSettings(bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        assert alter_reassignments(cluster, {TopicPartition(MOVED, 0): [kept, coming]}, deadline) == {}


def _secure(servers: str) -> None:
    """Add permissions, a user with credentials, and quotas."""
    allowed = (ResourcePatternType.LITERAL, "User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
    every_broker.create_acls(servers, [AclBinding(ResourceType.TOPIC, name, *allowed) for name in ("orders", "strict")])
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    every_broker.create_users(servers, [UserScramCredentialUpsertion("alice", credential, b"not a secret")])
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(KafkaSettings(bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        limits = {"producer_byte_rate": 1024.0, "request_percentage": 50.0}
        entities = [(("user", "alice"),), (("client-id", None),)]
        alter_client_quotas(cluster, dict.fromkeys(entities, limits), deadline)

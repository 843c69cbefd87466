"""Waits until every broker has learned of a change, by reading it back from each of them.

A change is answered as soon as the controller has committed it. Brokers learn it a moment later, the one that was asked
included, and on a busy machine the moment is long enough for a test to fail.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter

from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient, UserScramCredentialUpsertion

from kafka_lagoon.admin.acls import Acl, acls_of
from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConnectionFailed
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages import alter_client_quotas as altered_quotas
from kafka_lagoon.protocol.messages import describe_client_quotas as quotas
from kafka_lagoon.protocol.messages import describe_configs as configs
from kafka_lagoon.protocol.messages import describe_user_scram_credentials as scram
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS, DescribeAclsRequest
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataRequest, MetadataRequestTopic, MetadataTopic
from tests.clock import CLOCK

_TIMEOUT_MS = 60_000
_PAUSE_S = 0.05
_NOBODY = "nobody of this name"  # a user with a quota for the moment in which brokers are asked for it


def wait_until(is_true: Callable[[], bool], complaint: str = "") -> None:
    """Wait until a condition holds that follows some time after a response."""
    deadline = Deadline.after(CLOCK, _TIMEOUT_MS)
    while not is_true():
        assert deadline.pause(_PAUSE_S), complaint or f"not within {_TIMEOUT_MS / 1000:g} s"


@contextmanager
def _connected(servers: str) -> Iterator[tuple[Cluster, Deadline]]:
    deadline = Deadline.after(CLOCK, _TIMEOUT_MS)
    with Cluster.connect(KafkaSettings(bootstrap_servers=servers), CLOCK, RequestStats(), deadline) as cluster:
        yield cluster, deadline


def _on_every_broker(servers: str, holds: Callable[[int, Broker, Deadline], bool], complaint: str) -> None:
    with _connected(servers) as (cluster, deadline):
        _on_brokers(cluster, deadline, holds, complaint)


def _on_brokers(
    cluster: Cluster, deadline: Deadline, holds: Callable[[int, Broker, Deadline], bool], complaint: str
) -> None:
    """Ask on connections that stay open: accepting one costs a broker more than a request."""

    def is_known() -> bool:
        try:
            return all(holds(node_id, broker, deadline) for node_id, broker in cluster.brokers.items())
        except ConnectionFailed:  # it has just ended, but is still listed for a moment
            return False

    while not is_known():
        assert deadline.pause(_PAUSE_S), complaint
        cluster.refresh((), deadline)  # others may have joined or ended


def have_applied_changes(servers: str) -> None:
    """Wait until each broker of a KRaft cluster has applied every change that was committed before this call.

    Brokers apply the metadata log in its order, and answer with a change before they have started its logs or taken over its
    users and configs. So a quota is set and removed again: a broker that has forgotten it is done with all that came before.
    """
    with _connected(servers) as (cluster, deadline):
        for is_set in (True, False):
            _alter_quota_of_nobody(cluster, deadline, is_set)
            _on_brokers(
                cluster,
                deadline,
                lambda _, broker, deadline, is_set=is_set: _has_quota_of_nobody(broker, deadline) == is_set,
                "a broker does not follow the metadata log",
            )


def _alter_quota_of_nobody(cluster: Cluster, deadline: Deadline, is_set: bool) -> None:
    entity = altered_quotas.AlterClientQuotaEntity(entity_type=quotas.USER, entity_name=_NOBODY)
    operation = altered_quotas.AlterClientQuotaOperation(key="request_percentage", value=100.0, remove=not is_set)
    entry = altered_quotas.AlterClientQuotaEntry(entity=(entity,), ops=(operation,))
    request = altered_quotas.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    (altered,) = cluster.ask_any(altered_quotas.ALTER_CLIENT_QUOTAS, request, deadline).entries
    assert altered.error_code == 0, altered


def _has_quota_of_nobody(broker: Broker, deadline: Deadline) -> bool:
    nobody = quotas.ClientQuotaFilter(entity_type=quotas.USER, match_type=quotas.EXACT, match=_NOBODY)
    request = quotas.DescribeClientQuotasRequest(components=(nobody,), strict=True)
    answer = broker.ask(quotas.DESCRIBE_CLIENT_QUOTAS, request, deadline)
    assert answer.error_code == 0, answer
    return bool(answer.entries)


def _topics(broker: Broker, names: Iterable[str], deadline: Deadline) -> Sequence[MetadataTopic]:
    named = tuple(MetadataRequestTopic(name=name) for name in names)
    return broker.ask(METADATA, MetadataRequest(topics=named, allow_auto_topic_creation=False), deadline).topics


def knows_topics(servers: str, names: Collection[str]) -> None:
    """Wait until each broker names a leader of every partition of the topics."""

    def has_leader(topic: MetadataTopic) -> bool:
        return not topic.error_code and all(one.leader_id >= 0 for one in topic.partitions)

    _on_every_broker(
        servers,
        lambda _, broker, deadline: all(map(has_leader, _topics(broker, names, deadline))),
        f"a broker does not know a leader of {names}",
    )


def has_forgotten_topics(servers: str, names: Collection[str]) -> None:
    """Wait until no broker knows one of the topics."""
    _on_every_broker(
        servers,
        lambda _, broker, deadline: all(topic.error_code for topic in _topics(broker, names, deadline)),
        f"a broker still knows one of {names}",
    )


def names_leader(servers: str, topics: Collection[str], leader_id: int) -> None:
    """Wait until each broker names this leader of partition 0 of the topics."""

    def holds(_: int, broker: Broker, deadline: Deadline) -> bool:
        partitions = [one for topic in _topics(broker, topics, deadline) for one in topic.partitions]
        return {one.leader_id for one in partitions if one.partition_index == 0} == {leader_id}

    _on_every_broker(servers, holds, f"a broker does not name {leader_id} as leader of {topics}")


def names_replicas(servers: str, topic: str, replicas: Collection[int]) -> None:
    """Wait until each broker names these replicas of partition 0 of a topic, all of them in sync."""

    def holds(_: int, broker: Broker, deadline: Deadline) -> bool:
        (named,) = _topics(broker, [topic], deadline)
        (partition,) = (one for one in named.partitions if one.partition_index == 0)
        return set(partition.replica_nodes) == set(partition.isr_nodes) == set(replicas)

    _on_every_broker(servers, holds, f"a broker names other replicas of {topic} than {replicas}")


def has_moved_replicas(servers: str, names: Collection[str]) -> None:
    """Wait until no replica moves any more, and each broker names the same replicas of the topics, all in sync."""
    seen: dict[int, list[list[set[int]]]] = {}

    def holds(node_id: int, broker: Broker, deadline: Deadline) -> bool:
        if broker.ask(LIST_PARTITION_REASSIGNMENTS, ListPartitionReassignmentsRequest(), deadline).topics:
            return False
        topics = _topics(broker, names, deadline)
        partitions = [sorted(topic.partitions, key=attrgetter("partition_index")) for topic in topics]
        seen[node_id] = [[set(partition.replica_nodes) for partition in topic] for topic in partitions]
        in_sync = all(
            set(partition.replica_nodes) == set(partition.isr_nodes) for topic in partitions for partition in topic
        )
        agrees = all(replicas == seen[node_id] for replicas in seen.values())
        if not agrees:
            seen.clear()
        return in_sync and agrees

    _on_every_broker(servers, holds, f"replicas of {names} are still moving")


def knows_acls(servers: str, present: Collection[Acl] = (), absent: Collection[Acl] = ()) -> None:
    """Wait until each broker applies these ACLs, and no longer those."""

    def holds(_: int, broker: Broker, deadline: Deadline) -> bool:
        known = _acls(broker, None, deadline)
        return known.issuperset(present) and known.isdisjoint(absent)

    _on_every_broker(servers, holds, f"a broker lacks one of {present}, or has one of {absent}")


def knows_acls_of(servers: str, principal: str, wanted: Collection[Acl]) -> None:
    """Wait until each broker has these ACLs of a principal, and no others."""
    _on_every_broker(
        servers,
        lambda _, broker, deadline: _acls(broker, principal, deadline) == set(wanted),
        f"a broker has other ACLs of {principal} than {wanted}",
    )


def _acls(broker: Broker, principal: str | None, deadline: Deadline) -> set[Acl]:
    every = DescribeAclsRequest(
        resource_type_filter=acls.ANY,
        resource_name_filter=None,
        pattern_type_filter=acls.ANY,
        principal_filter=principal,
        host_filter=None,
        operation=acls.ANY,
        permission_type=acls.ANY,
    )
    return set(acls_of(broker.ask(DESCRIBE_ACLS, every, deadline)))


def create_acls(servers: str, bindings: Sequence[AclBinding]) -> None:
    """Create ACLs, and wait until they are in effect at each broker."""
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_acls(list(bindings)).values():
        future.result(30)
    knows_acls(servers, present=[_acl(one) for one in bindings])


def delete_acls(servers: str, *matching: AclBindingFilter) -> None:
    """Delete ACLs, and wait until none of them is in effect at any broker."""
    admin = AdminClient({"bootstrap.servers": servers})
    deleted = [acl for future in admin.delete_acls(list(matching)).values() for acl in future.result(30)]
    knows_acls(servers, absent=list(map(_acl, deleted)))


@contextmanager
def acls_in_effect(servers: str, bindings: Sequence[AclBinding]) -> Iterator[None]:
    """Have ACLs in effect at each broker until the context ends."""
    create_acls(servers, bindings)
    try:
        yield
    finally:
        delete_acls(servers, *map(_only, bindings))


def _only(binding: AclBinding) -> AclBindingFilter:
    """Make the filter that matches one ACL."""
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )


def _acl(binding: AclBinding) -> Acl:
    """Convert an ACL; librdkafka's numbers are Kafka's."""
    return Acl(
        binding.restype.value,
        binding.name,
        binding.resource_pattern_type.value,
        binding.principal,
        binding.host,
        binding.operation.value,
        binding.permission_type.value,
    )


def create_users(servers: str, users: Iterable[UserScramCredentialUpsertion]) -> None:
    """Create SCRAM users or replace their credentials, one per request, and wait until each broker has them.

    A broker has a new password if it has other iterations than the old one had.
    """
    admin, wanted = AdminClient({"bootstrap.servers": servers}), set[tuple[str, int]]()
    for user in users:
        wanted.add((user.user, user.scram_credential_info.iterations))
        for future in admin.alter_user_scram_credentials([user]).values():
            future.result(30)
    every = scram.DescribeUserScramCredentialsRequest(users=None)

    def holds(_: int, broker: Broker, deadline: Deadline) -> bool:
        known = broker.ask(scram.DESCRIBE_USER_SCRAM_CREDENTIALS, every, deadline).results
        return wanted <= {(result.user, info.iterations) for result in known for info in result.credential_infos}

    _on_every_broker(servers, holds, f"a broker does not know one of {wanted}")


def goes_by(servers: str, name: str, value: str) -> None:
    """Wait until a dynamic config of brokers has this value at each of them."""

    def holds(node_id: int, broker: Broker, deadline: Deadline) -> bool:
        resource = configs.DescribeConfigsResource(
            resource_type=configs.BROKER, resource_name=str(node_id), configuration_keys=(name,)
        )
        request = configs.DescribeConfigsRequest(resources=(resource,))
        (result,) = broker.ask(configs.DESCRIBE_CONFIGS, request, deadline).results
        return [entry.value for entry in result.configs] == [value]

    _on_every_broker(servers, holds, f"a broker does not go by {name}={value}")

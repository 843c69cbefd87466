"""Collects the lag of a cluster with other clients' admin classes, called as their users would.

Every function opens its own connections, and returns the lag of each group on each partition that it has committed.
"""

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as ConfluentSpec
from kafka import KafkaAdminClient
from kafka.admin import OffsetSpec

Lag = dict[tuple[str, str, int], int]
_TIMEOUT_S = 60


def confluent(bootstrap_servers: str) -> Lag:
    """Use confluent-kafka: groups, members, commits (one group per request, all at once) and end offsets."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    group_ids = [one.group_id for one in admin.list_consumer_groups().result(_TIMEOUT_S).valid]
    described = admin.describe_consumer_groups(group_ids)
    commits = [
        asked
        for group_id in group_ids
        for asked in admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)]).values()
    ]
    members = [one for asked in described.values() for one in asked.result(_TIMEOUT_S).members]
    assert members
    committed = {
        (group.group_id, one.topic, one.partition): one.offset
        for group in (asked.result(_TIMEOUT_S) for asked in commits)
        for one in group.topic_partitions
    }
    latest = ConfluentSpec.latest()
    partitions = {(topic, partition) for _, topic, partition in committed}
    asked_ends = admin.list_offsets({ConfluentPartition(*one): latest for one in partitions})
    ends = {(one.topic, one.partition): asked.result(_TIMEOUT_S).offset for one, asked in asked_ends.items()}
    return {key: ends[key[1:]] - offset for key, offset in committed.items()}


def kafka_python(bootstrap_servers: str) -> Lag:
    """Use kafka-python, whose requests hold many groups: groups, commits, end offsets, but no members."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers.split(","))
    try:
        group_ids = [one["group_id"] for one in admin.list_groups()]
        committed = admin.list_group_offsets(group_ids)
        partitions = {partition for some in committed.values() for partition in some}
        ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        return {
            (group_id, at.topic, at.partition): ends[at].offset - commit.offset
            for group_id, some in committed.items()
            for at, commit in some.items()
        }
    finally:
        admin.close()

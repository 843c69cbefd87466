"""Declares the rows of the state tables about brokers, topics and partitions, and about their configs."""

from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, before, column, row

# Conditions of several columns for `null_if`. Older brokers, and newer brokers with an old inter.broker.protocol.version,
# return no topic ids.
NO_TOPIC_IDS = "NOT EXISTS (SELECT * FROM topics WHERE topics.topic_id IS NOT NULL)"
_NO_ELIGIBLE_LEADERS = """NOT EXISTS (SELECT * FROM coverage
    WHERE coverage.api = 'DescribeTopicPartitions' AND coverage.requests > 0)"""
# Of tables that are asked for after the metadata was read again.
NO_LASTING_ID = (
    "topic NOT IN (SELECT topics.topic FROM topics WHERE topics.topic_id IS NOT NULL AND topics.problem IS NULL)"
)
ID_COMMENT = (
    "Id of the topic (22 characters, base64url); null if the brokers give none, or the topic was created, deleted or "
    "re-created during the snapshot."
)
_RACK_UNKNOWN = """NOT coalesce(list_has_all((SELECT list(brokers.broker_id) FROM brokers
    WHERE brokers.rack IS NOT NULL AND NOT coalesce(brokers.is_fenced, brokers.problem IS NOT NULL)), replicas), false)"""


@row
class BrokerRow:
    """Brokers that the cluster knew of, one row per broker and snapshot."""

    broker_id: Int32 = column("node.id of the broker.")
    host: str | None = column("Host that the broker advertises on our listener; null if none is known.", null_if=ALWAYS)
    port: Int32 | None = column(
        "Port that the broker advertises on our listener; null if none is known.", null_if=ALWAYS
    )
    rack: str | None = column("broker.rack; null if none is set.", null_if=ALWAYS)
    is_controller: bool | None = column(
        "True for the active controller: the leader of the metadata quorum, or with ZooKeeper the controller in "
        "metadata. Null if problem says why it is not known.",
    )
    is_fenced: bool | None = column(
        "True if the controller has fenced the broker; null if brokers do not return it (before Kafka 2.8), or "
        "problem says why it is not known.",
        null_if=before("DescribeCluster", 0),
    )
    problem: str | None = column(
        "Reason why is_controller or is_fenced is null, while the other one may be known: Kafka's name of the "
        "error, NO_CONTROLLER, NOT_DESCRIBED (DescribeCluster left the broker out), or NOT_IN_METADATA (it stopped during the "
        "snapshot). Null if there is none.",
    )


@row
class TopicRow:
    """Topics that the cluster knew of, one row per topic and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    is_internal: bool | None = column(
        "True if Kafka keeps its own state in the topic; null if problem is Kafka's error.",
    )
    partitions: Int32 | None = column(
        "Number of partitions in the first metadata; null if problem is Kafka's error, TOPIC_CREATED_... or "
        "PARTITIONS_ADDED_...",
    )
    replication_factor: Int32 | None = column(
        "Replicas of the first partition, as Kafka's tools print it; null if there is no partition, or problem is "
        "Kafka's error or TOPIC_CREATED_...",
        null_if="partitions = 0",
    )
    problem: str | None = column(
        "Kafka's name of the topic's error, or what has changed while the snapshot ran (TOPIC_DELETED_DURING_SNAPSHOT, "
        "TOPIC_RECREATED_..., TOPIC_CREATED_..., PARTITIONS_ADDED_...); null if there is none."
    )


@row
class PartitionRow:
    """Partitions, their leaders and replicas, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    leader_id: Int32 | None = column(
        "Broker that leads the partition; null if there is no leader, or if problem is LISTENER_NOT_FOUND.",
        null_if="is_leaderless",
    )
    leader_epoch: Int32 | None = column(
        "Epoch of the leader; null if the brokers do not return it.", null_if=before("Metadata", 7)
    )
    replicas: tuple[Int32, ...] | None = column("Brokers that hold a replica, the preferred leader first.")
    isr: tuple[Int32, ...] | None = column("Brokers whose replica is in sync.")
    offline_replicas: tuple[Int32, ...] | None = column(
        "Brokers whose replica is offline; null if the brokers do not return them.", null_if=before("Metadata", 5)
    )
    eligible_leader_replicas: tuple[Int32, ...] | None = column(
        "Eligible leader replicas: brokers outside the ISR that can lead without loss (KIP-966); null if the cluster has none.",
        null_if=_NO_ELIGIBLE_LEADERS,
    )
    last_known_elr: tuple[Int32, ...] | None = column(
        "Last known eligible leader replicas (KIP-966); null if the cluster does not record them.",
        null_if=_NO_ELIGIBLE_LEADERS,
    )
    is_leaderless: bool | None = column(
        "True if no broker leads the partition: neither reads nor writes are possible. Also true if problem is "
        "LISTENER_NOT_FOUND: the leader has no listener of the name that we use, and serves clients of others.",
    )
    is_under_replicated: bool | None = column(
        "True if fewer replicas are in sync than the partition has (kafka-topics --under-replicated-partitions). Replicas that "
        "a reassignment adds are left out, if reassignments could be listed."
    )
    is_under_min_isr: bool | None = column(
        "True if fewer replicas are in sync than min.insync.replicas; null if that config could not be read."
    )
    is_at_min_isr: bool | None = column(
        "True if exactly min.insync.replicas are in sync; null if that config could not be read."
    )
    is_preferred_leader: bool | None = column(
        "True if the leader is the first replica; null if there is no leader.",
        null_if="is_leaderless OR len(replicas) = 0",
    )
    rack_count: Int32 | None = column(
        "Number of different racks of the replicas; null if a rack is unknown: it is not set, or the broker is down.",
        null_if=_RACK_UNKNOWN,
    )
    problem: str | None = column(
        "Kafka's name of the partition's error, a change of the topic during the snapshot, BROKERS_DISAGREE (each "
        "describes the partition in another way), or the reason why min.insync.replicas "
        "(MIN_INSYNC_REPLICAS_NOT_RETURNED or an error) or eligible leaders (ELIGIBLE_LEADERS_NOT_RETURNED or an "
        "error) are not known. Null if there is none.",
    )


@row
class PartitionOffsetsRow:
    """Log start offset, high watermark and other offsets of every partition, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    log_start_offset: Int64 | None = column("First offset that can be read; null if problem says why.")
    high_watermark: Int64 | None = column(
        "First offset that is not yet replicated to all in-sync replicas: the end for readers; null if problem says "
        "why."
    )
    last_stable_offset: Int64 | None = column(
        "End for read_committed: the start of the oldest open transaction, else the high watermark; null if problem says why.",
        null_if=before("ListOffsets", 2),
    )
    max_timestamp_offset: Int64 | None = column(
        "Offset of the record with the largest timestamp; null if no record has one, that record is not below the "
        "high watermark yet, the brokers are older than Kafka 3.0, or problem says why.",
        null_if=ALWAYS,
    )
    max_timestamp: Timestamp | None = column(
        "Largest timestamp of a record; null if max_timestamp_ms is null, or outside the years 1 to 9999.",
        null_if="max_timestamp_ms IS NULL OR max_timestamp_ms NOT BETWEEN -62135596800000 AND 253402300799999",
    )
    max_timestamp_ms: Int64 | None = column(
        "Largest timestamp of a record as stored, in milliseconds since 1970; null if max_timestamp_offset is null.",
        null_if="max_timestamp_offset IS NULL",
    )
    local_log_start_offset: Int64 | None = column(
        "First offset on the broker's own disk (KIP-405); null if the brokers are older than Kafka 3.5, or problem says why.",
        null_if=before("ListOffsets", 8),
    )
    tiered_offset: Int64 | None = column(
        "Last offset in tiered storage (KIP-1005); null if there is none, the brokers are older than Kafka 3.9, or "
        "problem says why.",
        null_if=ALWAYS,
    )
    leader_epoch: Int32 | None = column(
        "Epoch of the leader that returned the high watermark, also if the log is empty; null if the brokers do "
        "not return it, or problem says why.",
        null_if=ALWAYS,
    )
    read_at_ms: Timestamp | None = column("Time at which the high watermark was received; null if it was not.")
    problem: str | None = column(
        "Reason why an offset is missing, while others may be known: Kafka's name of the first error, "
        "OFFSET_NOT_RETURNED, or a change of the topic during the snapshot. Null if there is none."
    )


@row
class ConfigSynonym:
    """A value of a config in another source, which may be overridden."""

    name: str = column("Name of the config in that source.")
    value: str | None = column(
        "Value of the config in that source; null if it is sensitive, or has none.", null_if=ALWAYS
    )
    source: str = column("The source, as Kafka names it.")


@row
class ConfigRow:
    """Configs of topics, brokers, groups and client metrics, including defaults, one row per resource, config and snapshot.

    Only groups and client metrics that have configs of their own are described.
    """

    resource_type: str = column("topic, broker, client-metrics or group.")
    resource_name: str = column(
        "Name of the topic, group or client metrics; id of the broker, or <default> for the dynamic configs of all brokers."
    )
    name: str = column("Name of the config.")
    value: str | None = column("Value of the config; null if it is sensitive, or has none.", null_if=ALWAYS)
    source: str | None = column(
        "Source of the value, as Kafka names it; null if the broker does not return it.",
        null_if=before("DescribeConfigs", 1),
    )
    config_type: str | None = column(
        "Type of the value, as Kafka names it: BOOLEAN, INT, LIST, PASSWORD and so on; null if the broker does not return it "
        "(before Kafka 2.6, or for an unknown config).",
        null_if=ALWAYS,
    )
    is_default: bool = column("True if the value was not set explicitly.")
    is_sensitive: bool = column("True if the value is secret; it is never stored.")
    is_read_only: bool = column("True if the config cannot be changed while the broker runs.")
    synonyms: tuple[ConfigSynonym, ...] = column("Values of the config in all sources.")


@row
class StoredReplicaRow:
    """Replicas on the disks of brokers, one row per broker, log directory, replica and snapshot.

    A directory without replicas of the chosen topics, or a failed directory, has one row without a topic.
    """

    broker_id: Int32 = column("node.id of the broker.")
    log_dir: str = column("Path of the directory on the broker.")
    topic: str | None = column(
        "Name of the topic; null if the directory has no replicas of the chosen topics, or has failed.", null_if=ALWAYS
    )
    topic_id: str | None = column(
        "Id of the topic; null if brokers give no ids, if the topic is not in table topics (it was deleted, and its files may "
        "remain), or was deleted or re-created during the snapshot, or without a topic.",
        null_if=f"topic IS NULL OR {NO_LASTING_ID}",
    )
    partition: Int32 | None = column("Partition number; null without a topic.", null_if="topic IS NULL")
    size_bytes: Int64 | None = column(
        "Bytes of this replica on disk, without remote storage; null without a topic.", null_if="topic IS NULL"
    )
    offset_lag: Int64 | None = column(
        "Offsets from the replica's end to the high watermark, or to the end of the replica that it will replace; null if the "
        "broker has the files and no such partition any more, or without a topic.",
        null_if=ALWAYS,
    )
    is_future: bool | None = column(
        "True if the replica will replace the one in another directory of the broker; null without a topic.",
        null_if="topic IS NULL",
    )
    total_bytes: Int64 | None = column(
        "Size of the directory's volume; null before Kafka 3.3.", null_if=before("DescribeLogDirs", 4)
    )
    usable_bytes: Int64 | None = column(
        "Free bytes of the directory's volume; null before Kafka 3.3.", null_if=before("DescribeLogDirs", 4)
    )
    is_cordoned: bool | None = column(
        "True if the directory accepts no new replicas (KIP-1066); null if the broker does not return it.",
        null_if=before("DescribeLogDirs", 5),
    )
    problem: str | None = column("Kafka's name of the directory's error; null if there is none.")


@row
class QuorumStateRow:
    """The KRaft metadata quorum, one row per controller or broker that replicates the metadata log, and snapshot."""

    replica_id: Int32 = column("node.id of the controller or broker.")
    role: str = column("leader, voter or observer.")
    leader_id: Int32 | None = column("node.id of the active controller; null while there is none.", null_if=ALWAYS)
    leader_epoch: Int32 = column("Epoch of the active controller.")
    high_watermark: Int64 | None = column(
        "End offset that a majority of the voters has replicated; null while the leader does not know it.",
        null_if=ALWAYS,
    )
    directory_id: str | None = column(
        "Id of the replica's log directory (KIP-853); null if there is none, or before Kafka 3.9.", null_if=ALWAYS
    )
    log_end_offset: Int64 | None = column(
        "End offset of the replica; null while the leader does not know it.", null_if=ALWAYS
    )
    lag: Int64 | None = column(
        "Leader's end offset minus the replica's; null if either is unknown.",
        null_if="leader_id IS NULL OR log_end_offset IS NULL OR NOT EXISTS (SELECT * FROM quorum AS leaders "
        "WHERE leaders.role = 'leader' AND leaders.log_end_offset IS NOT NULL)",
    )
    last_fetch_at_ms: Timestamp | None = column(
        "Time of the replica's last fetch; null if the leader does not know it, or before Kafka 3.3.", null_if=ALWAYS
    )
    last_caught_up_at_ms: Timestamp | None = column(
        "Last time at which the replica had the whole log; null if the leader does not know it, or before Kafka 3.3.",
        null_if=ALWAYS,
    )
    listeners: tuple[str, ...] | None = column(
        "Listeners of the controller, as name://host:port; empty for brokers; null before Kafka 3.9.",
        null_if=before("DescribeQuorum", 2),
    )


@row
class BrokerApiRow:
    """APIs that brokers offer on our listener, one row per broker, API and snapshot."""

    broker_id: Int32 = column("node.id of the broker.")
    api_key: Int32 = column("Kafka's number of the API.")
    api: str = column("Kafka's name of the API; UNKNOWN_API_n if it is newer than this program.")
    lowest: Int32 = column("Lowest version that the broker accepts.")
    highest: Int32 = column("Highest version that the broker accepts.")
    spoken: Int32 | None = column(
        "Highest version that both Kafka Lagoon and the broker know; null if there is none in common. A request "
        "may use an older one: see api_version of table coverage.",
        null_if=ALWAYS,
    )


@row
class BrokerFeatureRow:
    """Features (such as metadata.version), one row per broker, feature and snapshot."""

    broker_id: Int32 = column("node.id of the broker.")
    feature: str = column("Name of the feature.")
    lowest: Int32 | None = column(
        "Lowest level that the broker supports; null if it does not say.", null_if="finalized IS NOT NULL"
    )
    highest: Int32 | None = column(
        "Highest level that the broker supports; null if it does not say.", null_if="finalized IS NOT NULL"
    )
    finalized: Int32 | None = column(
        "Finalized level in the cluster, as this broker knows it; null if the feature is off.", null_if=ALWAYS
    )


@row
class ReassignmentRow:
    """Partitions that are being moved to other brokers, one row per partition and snapshot."""

    topic: str = column("Name of the topic.")
    topic_id: str | None = column(ID_COMMENT, null_if=NO_LASTING_ID)
    partition: Int32 = column("Partition number.")
    replicas: tuple[Int32, ...] = column("Brokers with a replica now, including those that are being added or removed.")
    adding_replicas: tuple[Int32, ...] = column("Brokers whose replica is being added.")
    removing_replicas: tuple[Int32, ...] = column("Brokers whose replica will be removed.")


@row
class TopicPartitions:
    """Partitions of one topic, in an assignment of a group or in a transaction."""

    topic: str | None = column("Name of the topic; null if only its id is known.", null_if="topic_id IS NOT NULL")
    topic_id: str | None = column("Id of the topic; null if only its name is known.", null_if="topic IS NOT NULL")
    partitions: tuple[Int32, ...] = column("Partition numbers.")

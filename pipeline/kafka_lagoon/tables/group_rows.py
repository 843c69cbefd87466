"""Declares the rows of the state tables about groups: members, commits and lag."""

from kafka_lagoon.tables.cluster_rows import NO_TOPIC_IDS
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, before, column, row


def _of_groups(condition: str) -> str:
    """`null_if` of a column that is null in rows of groups that fulfil the condition."""
    return f"group_id IN (SELECT groups.group_id FROM consumer_groups AS groups WHERE {condition})"  # noqa: S608  ours


_NO_GROUP_TYPES = before("ListGroups", 5)
_SHARING = "group_type = 'share'"
_CLASSIC = "coalesce(group_type, 'classic') = 'classic'"
_NO_STREAMS = _of_groups("coalesce(group_type, 'classic') <> 'streams'")


@row
class TopicPartitions:
    """Some partitions of one topic, as a group's assignor handed them out."""

    topic: str | None = column("Name of the topic; null if only its id is known.", null_if="topic_id IS NOT NULL")
    topic_id: str | None = column("Id of the topic; null if only its name is known.", null_if="topic IS NOT NULL")
    partitions: tuple[Int32, ...] = column("Partition numbers.")


@row
class StreamsTasks:
    """Some tasks of one subtopology of a streams group (KIP-1071)."""

    subtopology_id: str = column("Id of the subtopology.")
    partitions: tuple[Int32, ...] = column("Numbers of the tasks: of the partitions that they read.")


@row
class ConsumerGroupRow:
    """Groups of any type, one row per group and snapshot."""

    group_id: str = column("group.id; any text, so escape it where it is shown.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers cannot say.", null_if=_NO_GROUP_TYPES
    )
    protocol_type: str | None = column("consumer, connect and the like; empty for groups that only store commits.")
    state: str | None = column("State as Kafka spells it, e.g. Stable or Empty; null if unknown.")
    protocol: str | None = column("Assignor in use; null or empty if the group has none.", null_if=ALWAYS)
    coordinator_id: Int32 | None = column("Broker that coordinates the group; null if unknown.")
    members: Int32 | None = column("Number of members; null if the group could not be described.")
    group_epoch: Int32 | None = column("Epoch of the group (KIP-848); null for classic groups.", null_if=_CLASSIC)
    assignment_epoch: Int32 | None = column(
        "Epoch of the target assignment (KIP-848); null for classic groups.", null_if=_CLASSIC
    )
    problem: str | None = column("Why the group could not be described; null if it was.")
    topology_epoch: Int32 | None = column(
        "Epoch of the topology of a streams group (KIP-1071); null for other groups, and if the group has none. Null in "
        "rows of version 0.1.0.",
        null_if=ALWAYS,
    )


@row
class GroupMemberRow:
    """Members of groups and what they were assigned, one row per member and snapshot."""

    group_id: str = column("group.id of the member's group.")
    member_id: str = column("Id of the member within the group.")
    group_instance_id: str | None = column(
        "group.instance.id of a static member (KIP-345); null if dynamic.", null_if=ALWAYS
    )
    client_id: str | None = column("client.id of the member.")
    client_host: str | None = column("Address that the coordinator sees.")
    rack_id: str | None = column("client.rack of the member; null if none is set or known.", null_if=ALWAYS)
    subscribed_topics: tuple[str, ...] | None = column(
        "Topics the member subscribes to by name; null if it has a pattern, does not say, or problem is set.",
        null_if=ALWAYS,
    )
    assignment: tuple[TopicPartitions, ...] | None = column(
        "Partitions the member owns; null if the group is rebalancing or its protocol is not Kafka's consumer protocol.",
        null_if=_of_groups("protocol_type <> 'consumer' OR state <> 'Stable'"),
    )
    target_assignment: tuple[TopicPartitions, ...] | None = column(
        "Partitions the member is to own (KIP-848); null for classic and share groups.",
        null_if=_of_groups(f"{_CLASSIC} OR group_type = 'share'"),
    )
    member_epoch: Int32 | None = column(
        "Epoch of the member (KIP-848); null for classic groups.", null_if=_of_groups(_CLASSIC)
    )
    problem: str | None = column(
        "Why it is not known what the member owns: MEMBER_PROTOCOL_UNREADABLE, ASSIGNMENT_NOT_RETURNED, "
        "TOPOLOGY_NOT_RETURNED, or UNKNOWN_TOPIC_ID: a topic that no broker names by the id in the assignment. Null if it "
        "is known."
    )
    subscribed_pattern: str | None = column(
        "Regular expression of topics that the member of a consumer group subscribes to (KIP-848); null if it has none. "
        "Null in rows of version 0.1.0.",
        null_if=ALWAYS,
    )
    member_type: str | None = column(
        "classic or consumer (streams): the protocol that the member speaks, which differs from its group's while that is "
        "migrated (KIP-1099); null if brokers do not tell. Null in rows of version 0.1.0.",
        null_if=ALWAYS,
    )
    topology_epoch: Int32 | None = column(
        "Epoch of the topology that the member of a streams group has; null for other groups. Null in rows of version "
        "0.1.0.",
        null_if=_NO_STREAMS,
    )
    process_id: str | None = column(
        "Process of the member of a streams group; members of one share its state. Null for other groups. Null in rows of "
        "version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    active_tasks: tuple[StreamsTasks, ...] | None = column(
        "Tasks that the member of a streams group works on; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    standby_tasks: tuple[StreamsTasks, ...] | None = column(
        "Tasks whose state it keeps for others; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    warmup_tasks: tuple[StreamsTasks, ...] | None = column(
        "Tasks whose state it reads before it takes them over; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )


@row
class CommittedOffsetRow:
    """Offsets that groups have stored, one row per group, partition and snapshot."""

    group_id: str = column("group.id of the group.")
    topic: str = column("Name of the topic, which may be deleted by now.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    committed_offset: Int64 | None = column(
        "Next offset that the group will read; null if there is none or it could not be read."
    )
    committed_leader_epoch: Int32 | None = column(
        "Leader epoch of the last record consumed; null if the group gave none.", null_if=ALWAYS
    )
    metadata: str | None = column("Free text stored with the commit; null if there is none.", null_if=ALWAYS)
    read_at_ms: Timestamp | None = column("When the commit was received; null if it was not.")
    problem: str | None = column(
        "Why the commit could not be read; or UNSTABLE_OFFSET_COMMIT: a transaction is about to replace it; or "
        "what hides the topic, UNKNOWN_TOPIC_OR_PARTITION if it is not there any more. Else null."
    )


@row
class ConsumerLagRow:
    """How far each group is behind, one row per group, partition (committed, assigned or subscribed) and snapshot."""

    group_id: str = column("group.id of the group.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers cannot say.", null_if=_NO_GROUP_TYPES
    )
    group_state: str | None = column("State of the group as Kafka spells it; null if unknown.")
    topic: str = column("Name of the topic, which may be deleted by now.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none.", null_if=NO_TOPIC_IDS
    )
    partition: Int32 = column("Partition number.")
    committed_offset: Int64 | None = column(
        "Next offset that the group will read; null if it has no commit, as share groups, or unknown.",
        null_if=_SHARING,
    )
    log_start_offset: Int64 | None = column("First offset that can be read; null if unknown.")
    high_watermark: Int64 | None = column("End for readers, read after the commit; null if unknown.")
    last_stable_offset: Int64 | None = column(
        "End for read_committed, read after the commit; null if unknown.", null_if=before("ListOffsets", 2)
    )
    lag: Int64 | None = column(
        "high_watermark - committed_offset in offsets, raw: negative if the commit lies past the end. Null if either "
        "is unknown. Of share groups what their coordinator counts (KIP-1226)."
    )
    lag_lower_bound: Int64 | None = column(
        "The same with the end read before the commit: the true lag at the commit's instant lies between both. Null if "
        "either is unknown, and for share groups.",
        null_if=_SHARING,
    )
    lag_read_committed: Int64 | None = column(
        "last_stable_offset - committed_offset, raw; null if either is unknown, and for share groups.",
        null_if=f"{_SHARING} OR {before('ListOffsets', 2)}",
    )
    lag_basis: str = column(
        "committed: lag is given. log_start: no commit, so lag is null and high_watermark - log_start_offset is what a "
        "reader from earliest faces. share: lag is given, and counts records from share_start_offset on that are not done, "
        "in any order. unknown: a side is missing, see problem."
    )
    records_lost: Int64 | None = column(
        "Offsets deleted before the group read them: log_start_offset - committed_offset, 0 if the commit is not below "
        "the start; null if either is unknown. Of share groups 0, or null if share_start_offset is below the start, "
        "because records after it may have been done.",
        null_if=f"{_SHARING} AND retention_margin < 0",
    )
    retention_margin: Int64 | None = column(
        "committed_offset - log_start_offset, raw: how many offsets retention may delete before the group loses "
        "records. Negative if it already has; null if either is unknown. Of share groups from share_start_offset."
    )
    time_lag_ms: Int64 | None = column(
        "Age in milliseconds of the first unread record: our clock when it was fetched minus first_unread_timestamp, raw: "
        "negative if that lies ahead. 0 if there is none; null if time_lag_problem or lag says why.",
        null_if="time_lag_method IS NULL OR time_lag_problem IS NOT NULL",
    )
    time_lag_method: str | None = column(
        "How time_lag_ms was found. exact: from the record at the commit. next_after_gap: from the first one after it, "
        "because compaction, a marker or an aborted transaction has its offset. caught_up: there is no record after the "
        "commit, so 0. below_log_start: the record is deleted, from the first that is left. blocked_by_open_transaction: "
        "from the record at the commit, which read_committed does not return yet. batch_bound: at least so old, by the "
        "header of its batch. interpolated: when the offset was written, from the times of two snapshots. unreadable, "
        "not_measured: null, time_lag_problem says why. Null if lag is, and for share groups.",
        null_if=ALWAYS,
    )
    first_unread_timestamp_ms: Timestamp | None = column(
        "Timestamp of the first unread record; a bound or an estimate where time_lag_method says so. Null if there is none, "
        "it is not known, or outside the years 1 to 9999.",
        null_if=ALWAYS,
    )
    member_id: str | None = column(
        "Member that owns the partition, of a share group the first by id of those that do; null if none does, or problem "
        "is set.",
        null_if=ALWAYS,
    )
    client_id: str | None = column("client.id of that member.", null_if="member_id IS NULL")
    client_host: str | None = column("Address of that member as the coordinator sees it.", null_if="member_id IS NULL")
    problem: str | None = column("Why a side, or who owns the partition, is not known; null if both are.")
    time_lag_problem: str | None = column(
        "Why the first unread record is not known: Kafka's name of the error, COMMIT_PAST_END, LOG_TRUNCATED (by the leader "
        "epoch of the commit), IN_TIERED_STORAGE (which is not read), NO_TIMESTAMP, NO_RECORD_RETURNED, GAP_TOO_LONG, "
        "TIME_LAG_BUDGET_USED_UP, TIME_LAG_OFF, NO_EARLIER_SNAPSHOT, HISTORY_UNREADABLE, EXECUTORS_FAILED, or what table "
        "record_problems calls it. Null if it is known, and in rows of version 0.1.0.",
        null_if="time_lag_method IS NULL OR time_lag_ms IS NOT NULL",
    )
    first_unread_offset: Int64 | None = column(
        "Offset of the first unread record, not below committed_offset; null if it was not read.",
        null_if="time_lag_method IS NULL OR time_lag_method NOT IN ('exact', 'next_after_gap')",
    )
    first_unread_timestamp_type: str | None = column(
        "create_time (the producer's clock) or log_append_time (the broker's); null if the record was not read, or has no "
        "timestamp.",
        null_if="first_unread_offset IS NULL OR time_lag_problem = 'NO_TIMESTAMP'",
    )
    share_start_offset: Int64 | None = column(
        "First offset that a share group has not done (KIP-932); null for other groups, or if problem is set.",
        null_if=f"NOT coalesce({_SHARING}, false)",
    )

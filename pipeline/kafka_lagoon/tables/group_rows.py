"""Declares the rows of the state tables about groups: members, commits and lag."""

from kafka_lagoon.tables.cluster_rows import NO_TOPIC_IDS, TopicPartitions
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, Int64, Timestamp, before, column, row


def _of_groups(condition: str) -> str:
    """Make the `null_if` of a column that is null for groups that fulfil the condition."""
    return f"group_id IN (SELECT groups.group_id FROM consumer_groups AS groups WHERE {condition})"  # noqa: S608  ours


_NO_GROUP_TYPES = before("ListGroups", 5)
_SHARING = "group_type = 'share'"
_CLASSIC = "coalesce(group_type, 'classic') = 'classic'"
_NO_STREAMS = _of_groups("coalesce(group_type, 'classic') <> 'streams'")


@row
class StreamsTasks:
    """Tasks of one subtopology of a streams group (KIP-1071)."""

    subtopology_id: str = column("Id of the subtopology.")
    partitions: tuple[Int32, ...] = column(
        "Numbers of the tasks, which are the numbers of the partitions that they read."
    )


@row
class ConsumerGroupRow:
    """Groups of any type, one row per group and snapshot."""

    group_id: str = column("group.id of the group; it can be any text, so escape it in output.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers do not return it.", null_if=_NO_GROUP_TYPES
    )
    protocol_type: str | None = column(
        "Protocol type, such as consumer or connect; empty for groups that only store commits."
    )
    state: str | None = column("State as Kafka spells it, e.g. Stable or Empty; null if unknown.")
    protocol: str | None = column(
        "Assignor in use, of streams groups that of the next assignment; null if the group has none, and for streams "
        "groups before Kafka 4.4.",
        null_if=ALWAYS,
    )
    coordinator_id: Int32 | None = column(
        "Broker that coordinates the group; if its coordinator is not known, the broker that listed it."
    )
    members: Int32 | None = column("Number of members; null if the group could not be described.")
    group_epoch: Int32 | None = column("Epoch of the group (KIP-848); null for classic groups.", null_if=_CLASSIC)
    assignment_epoch: Int32 | None = column(
        "Epoch of the target assignment (KIP-848); null for classic groups.", null_if=_CLASSIC
    )
    problem: str | None = column(
        "Reason why the group could not be described: Kafka's name of the error, GROUP_TYPE_NOT_DESCRIBED, or "
        "MEMBER_PROTOCOL_UNREADABLE (it was described, and a subscription or assignment of a member cannot be "
        "decoded). Null if there is none.",
    )
    topology_epoch: Int32 | None = column(
        "Epoch of the topology of a streams group (KIP-1071); null for other groups, and without a topology. Null in "
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
    client_host: str | None = column("Address of the member as its coordinator sees it.")
    rack_id: str | None = column("client.rack of the member; null if none is set or known.", null_if=ALWAYS)
    subscribed_topics: tuple[str, ...] | None = column(
        "Topics that the member subscribes to by name; null if it has a pattern or does not report them, or problem says why.",
        null_if=ALWAYS,
    )
    assignment: tuple[TopicPartitions, ...] | None = column(
        "Partitions that the member owns; null if the group is rebalancing or its protocol is not Kafka's consumer protocol.",
        null_if=_of_groups("protocol_type <> 'consumer' OR state <> 'Stable'"),
    )
    target_assignment: tuple[TopicPartitions, ...] | None = column(
        "Partitions that the member will own after the rebalance (KIP-848); null for classic and share groups.",
        null_if=_of_groups(f"{_CLASSIC} OR group_type = 'share'"),
    )
    member_epoch: Int32 | None = column(
        "Epoch of the member (KIP-848); null for classic groups.", null_if=_of_groups(_CLASSIC)
    )
    problem: str | None = column(
        "Reason why the subscription or an assignment is not known: MEMBER_PROTOCOL_UNREADABLE (of a classic "
        "group; either may be known), ASSIGNMENT_NOT_RETURNED, TOPOLOGY_NOT_RETURNED, or UNKNOWN_TOPIC_ID (no "
        "broker knows a topic with an id of an assignment). Null if they are known.",
    )
    subscribed_pattern: str | None = column(
        "Regular expression of topics that the member of a consumer group subscribes to (KIP-848); null if it has none. "
        "Null in rows of version 0.1.0.",
        null_if=ALWAYS,
    )
    member_type: str | None = column(
        "Protocol of the member: classic, consumer or streams. It differs from the group's during a migration (KIP-1099); "
        "null if brokers do not return it. Null in rows of version 0.1.0.",
        null_if=ALWAYS,
    )
    topology_epoch: Int32 | None = column(
        "Epoch of the topology of the member of a streams group; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    process_id: str | None = column(
        "Process of the member of a streams group; members of one process share its state. Null for other groups. Null in rows "
        "of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    active_tasks: tuple[StreamsTasks, ...] | None = column(
        "Active tasks of the member of a streams group; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    standby_tasks: tuple[StreamsTasks, ...] | None = column(
        "Standby tasks: the member keeps a copy of their state; null for other groups. Null in rows of version 0.1.0.",
        null_if=_NO_STREAMS,
    )
    warmup_tasks: tuple[StreamsTasks, ...] | None = column(
        "Warm-up tasks: the member restores their state before it takes them over; null for other groups. Null in rows of "
        "version 0.1.0.",
        null_if=_NO_STREAMS,
    )


@row
class CommittedOffsetRow:
    """Offsets that groups have stored, one row per group, partition and snapshot."""

    group_id: str = column("group.id of the group.")
    topic: str = column("Name of the topic, which may have been deleted since.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); of a topic that was re-created during the snapshot that of the old one, "
        "and the commit may be of either. Null if the brokers give none, as for a topic that does not exist.",
        null_if=NO_TOPIC_IDS,
    )
    partition: Int32 = column("Partition number.")
    committed_offset: Int64 | None = column(
        "Next offset that the group will read; null if there is no commit, or it could not be read."
    )
    committed_leader_epoch: Int32 | None = column(
        "Leader epoch of the last consumed record; null if the group did not commit it.", null_if=ALWAYS
    )
    metadata: str | None = column(
        "Free text stored with the commit, empty if the group stored none; null without a commit.", null_if=ALWAYS
    )
    read_at_ms: Timestamp | None = column(
        "Time at which the coordinator's response was received; the first one, if an open transaction made more necessary."
    )
    problem: str | None = column(
        "Reason why the commit could not be read; NO_COMMIT if the stored offset is -1; COMMIT_NEGATIVE if it is "
        "below that; UNSTABLE_OFFSET_COMMIT if an open transaction is about to replace it; or the error of the "
        "topic, such as UNKNOWN_TOPIC_OR_PARTITION if it was deleted, or created during the snapshot. Null if "
        "there is none.",
    )


@row
class ConsumerLagRow:
    """Lag of groups, one row per group, partition (committed, assigned or subscribed) and snapshot."""

    group_id: str = column("group.id of the group.")
    group_type: str | None = column(
        "classic, consumer (KIP-848), share or streams; null if the brokers do not return it.", null_if=_NO_GROUP_TYPES
    )
    group_state: str | None = column("State of the group as Kafka spells it; null if unknown.")
    topic: str = column("Name of the topic, which may have been deleted since.")
    topic_id: str | None = column(
        "Id of the topic (22 characters, base64url); null if the brokers give none, as for a topic that does not exist.",
        null_if=NO_TOPIC_IDS,
    )
    partition: Int32 = column("Partition number.")
    committed_offset: Int64 | None = column(
        "Next offset that the group will read; null if unknown, and without a commit, as for share groups.",
        null_if=_SHARING,
    )
    log_start_offset: Int64 | None = column("First offset that can be read, read before the commit; null if unknown.")
    high_watermark: Int64 | None = column("End for readers, read after the commit; null if unknown.")
    last_stable_offset: Int64 | None = column(
        "End for read_committed, read after the commit; null if unknown.", null_if=before("ListOffsets", 2)
    )
    lag: Int64 | None = column(
        "high_watermark - committed_offset in offsets, unclamped: negative if the commit is past the end. Null if either "
        "is unknown. For share groups the lag that their coordinator returns (KIP-1226)."
    )
    lag_lower_bound: Int64 | None = column(
        "The same with the end read before the commit: the true lag at the time of the commit's response is between the two. "
        "Null if either is unknown, and for share groups.",
        null_if=_SHARING,
    )
    lag_read_committed: Int64 | None = column(
        "last_stable_offset - committed_offset, unclamped; null if either is unknown, and for share groups.",
        null_if=f"{_SHARING} OR {before('ListOffsets', 2)}",
    )
    lag_basis: str = column(
        "Basis of the lag. committed: lag is known. log_start: there is no commit, or a share group has not read from the "
        "partition yet, so lag is null, and a reader from earliest has high_watermark - log_start_offset to read. share: lag "
        "is known, and counts records from share_start_offset on that are not yet processed, in any order. unknown: commit or "
        "end is not known, see problem."
    )
    records_lost: Int64 | None = column(
        "Offsets that were deleted before the group read them: log_start_offset - committed_offset, 0 if the commit is not "
        "below the start; null if either is unknown. For share groups 0, or null if share_start_offset is below the start, "
        "because records after it may have been processed.",
        null_if=f"{_SHARING} AND retention_margin < 0",
    )
    retention_margin: Int64 | None = column(
        "committed_offset - log_start_offset, unclamped: offsets that retention may delete before the group loses "
        "records. Negative if it has lost records; null if either is unknown. For share groups from share_start_offset."
    )
    time_lag_ms: Int64 | None = column(
        "Age in milliseconds of the first unread record: local time of its fetch minus first_unread_timestamp, unclamped: "
        "negative for a timestamp in the future. 0 if there is no unread record; null if lag is null or time_lag_problem is "
        "set, and for share groups.",
        null_if="time_lag_method IS NULL OR time_lag_problem IS NOT NULL",
    )
    time_lag_method: str | None = column(
        "Source of time_lag_ms. exact: the record at the commit. next_after_gap: the first record after the commit, because "
        "compaction, a marker or an aborted transaction left no record at its offset. caught_up: 0, because there is no "
        "record after the commit. below_log_start: the first remaining record, because the record at the commit was deleted. "
        "blocked_by_open_transaction: the record at the commit, which read_committed does not return yet. batch_bound: a "
        "lower bound from the header of the batch. interpolated: an estimate from the times of two snapshots. unreadable, "
        "not_measured: null, see time_lag_problem. Null if lag is null, and for share groups.",
        null_if=ALWAYS,
    )
    first_unread_timestamp_ms: Timestamp | None = column(
        "Timestamp of the first unread record; a bound or an estimate for some values of time_lag_method. Null if there is no "
        "unread record, its timestamp is not known, or it is outside the years 1 to 9999.",
        null_if=ALWAYS,
    )
    member_id: str | None = column(
        "Member that owns the partition; in a share group the first of its members by id. Null if there is none, while a "
        "classic group rebalances, or if problem says why it is not known.",
        null_if=ALWAYS,
    )
    client_id: str | None = column("client.id of that member.", null_if="member_id IS NULL")
    client_host: str | None = column("Address of that member as the coordinator sees it.", null_if="member_id IS NULL")
    problem: str | None = column(
        "Reason why the commit, an offset of the log or the member is not known: Kafka's name of the error, a "
        "change of the topic during the snapshot, NO_COMMIT, COMMIT_NEGATIVE, OFFSET_NOT_RETURNED, "
        "SHARE_NOT_STARTED (no member has read from the partition yet), SHARE_START_NEGATIVE, "
        "SHARE_LAG_NOT_RETURNED, or the problem of the group. UNSTABLE_OFFSET_COMMIT if an open transaction is "
        "about to replace the commit. Null if there is none.",
    )
    time_lag_problem: str | None = column(
        "Reason why time_lag_ms is null although lag is known: Kafka's name of the error or ours, such as DEADLINE_PASSED; "
        "COMMIT_PAST_END, LOG_TRUNCATED (by the leader epoch of the commit), IN_TIERED_STORAGE (which is not read), "
        "NO_TIMESTAMP, TIMESTAMP_OUT_OF_RANGE (its age in milliseconds has more than 64 bits), NO_RECORD_RETURNED, "
        "GAP_TOO_LONG, TIME_LAG_BUDGET_USED_UP, TIME_LAG_OFF, NO_EARLIER_SNAPSHOT, HISTORY_UNREADABLE, EXECUTORS_FAILED, or a "
        "reason of table record_problems. Null if there is none, and in rows of version 0.1.0.",
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
        "First offset that a share group has not processed yet (KIP-932); null for other groups, or if problem says why.",
        null_if=f"NOT coalesce({_SHARING}, false)",
    )

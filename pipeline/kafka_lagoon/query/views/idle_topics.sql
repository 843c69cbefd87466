CREATE OR REPLACE VIEW idle_topics (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The latest published snapshot of the cluster, which has the topic.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  history_since COMMENT 'When the oldest remaining published snapshot of the cluster began: nothing is known of the time before.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  is_internal COMMENT 'True if Kafka keeps its own state in the topic; null if unknown.',
  partitions COMMENT 'Number of partitions; null if the topic could not be described.',
  known_partitions COMMENT 'Partitions whose end offset is known: the columns about records are about these partitions only.',
  records COMMENT 'Offsets in their logs; null if none is known.',
  size_bytes COMMENT 'Bytes on disk of all replicas whose size is known; null if no size is known.',
  last_produced_at COMMENT 'When the first snapshot with the present end offset of the partition that was written to last began: records were written before that, and after the previous snapshot. Null if no end offset has moved since history_since.',
  last_record_timestamp COMMENT 'Largest timestamp of a record, which the producer may have chosen; null if none is known.',
  groups COMMENT 'Groups that have a commit on the topic.',
  last_committed_at COMMENT 'When the first snapshot with the present commit of the group and partition that moved last began. Null if no commit has moved since history_since.',
  members COMMENT 'Members of groups that subscribe to the topic by name, or own a partition of it.',
  last_used_at COMMENT 'The latest time at which the topic was in use according to the evidence; null if there is none.',
  evidence COMMENT 'Basis of last_used_at: members (there are members now), commits, records (the end of a log), record_timestamp (nothing moved, so not later than history_since), or none.'
)
COMMENT 'When each topic was last used, with the evidence: order by last_used_at to find idle topics. One row per topic of the latest published snapshot of each cluster. A consumer that uses assign() and does not commit leaves no trace, so missing evidence does not prove that a topic is unused.'
AS
WITH first_seen AS (
  SELECT cluster, min(captured_at) AS history_since FROM snapshots GROUP BY cluster
),
ends_now AS (
  SELECT partition_offsets.*
  FROM partition_offsets
  JOIN snapshots_now
    ON snapshots_now.cluster = partition_offsets.cluster
    AND snapshots_now.snapshot_id = partition_offsets.snapshot_id
    AND snapshots_now.snapshot_date = partition_offsets.snapshot_date
),
-- A log that was truncated may have an end again that it had before.
ends_before AS (
  SELECT
    ends_now.cluster,
    ends_now.topic,
    ends_now.topic_id,
    ends_now.partition,
    ends_now.high_watermark,
    min(history.captured_at) AS listed_since,
    max(CASE WHEN history.high_watermark <> ends_now.high_watermark THEN history.captured_at END) AS other_end_at
  FROM ends_now
  JOIN partition_offsets_published AS history
    ON history.cluster = ends_now.cluster
    AND history.topic = ends_now.topic
    AND history.topic_id IS NOT DISTINCT FROM ends_now.topic_id
    AND history.partition = ends_now.partition
  GROUP BY ends_now.cluster, ends_now.topic, ends_now.topic_id, ends_now.partition, ends_now.high_watermark
),
ends_since AS (
  SELECT
    ends_before.cluster,
    ends_before.topic,
    ends_before.partition,
    -- An end that was only unknown before has not moved.
    CASE
      WHEN max(ends_before.other_end_at) IS NOT NULL OR min(ends_before.listed_since) = min(history.captured_at)
        THEN min(history.captured_at)
    END AS end_since
  FROM ends_before
  JOIN partition_offsets_published AS history
    ON history.cluster = ends_before.cluster
    AND history.topic = ends_before.topic
    AND history.topic_id IS NOT DISTINCT FROM ends_before.topic_id
    AND history.partition = ends_before.partition
    AND history.high_watermark = ends_before.high_watermark
    AND (ends_before.other_end_at IS NULL OR history.captured_at > ends_before.other_end_at)
  GROUP BY ends_before.cluster, ends_before.topic, ends_before.partition
),
logs AS (
  SELECT
    ends_now.cluster,
    ends_now.topic,
    count(ends_now.high_watermark) AS known_partitions,
    CAST(sum(ends_now.high_watermark - ends_now.log_start_offset) AS BIGINT) AS records,
    max(ends_now.max_timestamp) AS last_record_timestamp,
    -- The end offset of a new and empty topic has not moved.
    max(CASE WHEN ends_since.end_since > first_seen.history_since AND ends_now.high_watermark > 0 THEN ends_since.end_since END)
      AS last_produced_at
  FROM ends_now
  JOIN first_seen
    ON first_seen.cluster = ends_now.cluster
  LEFT JOIN ends_since
    ON ends_since.cluster = ends_now.cluster
    AND ends_since.topic = ends_now.topic
    AND ends_since.partition = ends_now.partition
  GROUP BY ends_now.cluster, ends_now.topic
),
commits_now AS (
  SELECT committed_offsets.*
  FROM committed_offsets
  JOIN snapshots_now
    ON snapshots_now.cluster = committed_offsets.cluster
    AND snapshots_now.snapshot_id = committed_offsets.snapshot_id
    AND snapshots_now.snapshot_date = committed_offsets.snapshot_date
  WHERE committed_offsets.committed_offset IS NOT NULL
),
-- A group that was reset may have a commit again that it had before.
commits_before AS (
  SELECT
    commits_now.cluster,
    commits_now.topic,
    commits_now.partition,
    commits_now.group_id,
    commits_now.committed_offset,
    max(CASE WHEN history.committed_offset <> commits_now.committed_offset THEN history.captured_at END) AS other_commit_at
  FROM commits_now
  JOIN committed_offsets_published AS history
    ON history.cluster = commits_now.cluster
    AND history.group_id = commits_now.group_id
    AND history.topic = commits_now.topic
    AND history.partition = commits_now.partition
  GROUP BY
    commits_now.cluster,
    commits_now.topic,
    commits_now.partition,
    commits_now.group_id,
    commits_now.committed_offset
),
commits_since AS (
  SELECT
    commits_before.cluster,
    commits_before.topic,
    commits_before.partition,
    commits_before.group_id,
    min(history.captured_at) AS commit_since
  FROM commits_before
  JOIN committed_offsets_published AS history
    ON history.cluster = commits_before.cluster
    AND history.group_id = commits_before.group_id
    AND history.topic = commits_before.topic
    AND history.partition = commits_before.partition
    AND history.committed_offset = commits_before.committed_offset
    AND (commits_before.other_commit_at IS NULL OR history.captured_at > commits_before.other_commit_at)
  GROUP BY commits_before.cluster, commits_before.topic, commits_before.partition, commits_before.group_id
),
readers AS (
  SELECT
    commits_since.cluster,
    commits_since.topic,
    count(DISTINCT commits_since.group_id) AS groups,
    max(CASE WHEN commits_since.commit_since > first_seen.history_since THEN commits_since.commit_since END) AS last_committed_at
  FROM commits_since
  JOIN first_seen
    ON first_seen.cluster = commits_since.cluster
  GROUP BY commits_since.cluster, commits_since.topic
),
members_now AS (
  SELECT group_members.*
  FROM group_members
  JOIN snapshots_now
    ON snapshots_now.cluster = group_members.cluster
    AND snapshots_now.snapshot_id = group_members.snapshot_id
    AND snapshots_now.snapshot_date = group_members.snapshot_date
),
assigned_topics AS (
  SELECT cluster, group_id, member_id, explode(assignment) AS assigned FROM members_now
),
topics_of_members AS (
  SELECT cluster, group_id, member_id, explode(subscribed_topics) AS topic FROM members_now
  UNION
  SELECT cluster, group_id, member_id, assigned.topic AS topic FROM assigned_topics
),
subscribers AS (
  SELECT cluster, topic, count(*) AS members FROM topics_of_members GROUP BY cluster, topic
),
sizes AS (
  SELECT
    log_dirs.cluster,
    log_dirs.topic,
    CAST(sum(log_dirs.size_bytes) AS BIGINT) AS size_bytes
  FROM log_dirs
  JOIN snapshots_now
    ON snapshots_now.cluster = log_dirs.cluster
    AND snapshots_now.snapshot_id = log_dirs.snapshot_id
    AND snapshots_now.snapshot_date = log_dirs.snapshot_date
  GROUP BY log_dirs.cluster, log_dirs.topic
),
known AS (
  SELECT
    topics.cluster,
    topics.cluster_id,
    topics.snapshot_id,
    topics.captured_at,
    first_seen.history_since,
    topics.topic,
    topics.topic_id,
    topics.is_internal,
    topics.partitions,
    coalesce(logs.known_partitions, 0) AS known_partitions,
    logs.records,
    sizes.size_bytes,
    logs.last_produced_at,
    logs.last_record_timestamp,
    coalesce(readers.groups, 0) AS groups,
    readers.last_committed_at,
    coalesce(subscribers.members, 0) AS members
  FROM topics
  JOIN snapshots_now
    ON snapshots_now.cluster = topics.cluster
    AND snapshots_now.snapshot_id = topics.snapshot_id
    AND snapshots_now.snapshot_date = topics.snapshot_date
  JOIN first_seen
    ON first_seen.cluster = topics.cluster
  LEFT JOIN logs
    ON logs.cluster = topics.cluster
    AND logs.topic = topics.topic
  LEFT JOIN readers
    ON readers.cluster = topics.cluster
    AND readers.topic = topics.topic
  LEFT JOIN subscribers
    ON subscribers.cluster = topics.cluster
    AND subscribers.topic = topics.topic
  LEFT JOIN sizes
    ON sizes.cluster = topics.cluster
    AND sizes.topic = topics.topic
),
judged AS (
  SELECT
    known.*,
    CASE
      WHEN members > 0 THEN 'members'
      WHEN last_committed_at >= coalesce(last_produced_at, last_committed_at) THEN 'commits'
      WHEN last_produced_at IS NOT NULL THEN 'records'
      WHEN last_record_timestamp IS NOT NULL THEN 'record_timestamp'
      ELSE 'none'
    END AS evidence
  FROM known
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  captured_at,
  history_since,
  topic,
  topic_id,
  is_internal,
  partitions,
  known_partitions,
  records,
  size_bytes,
  last_produced_at,
  last_record_timestamp,
  groups,
  last_committed_at,
  members,
  CASE evidence
    WHEN 'members' THEN captured_at
    WHEN 'commits' THEN last_committed_at
    WHEN 'records' THEN last_produced_at
    WHEN 'record_timestamp' THEN least(last_record_timestamp, history_since)
  END AS last_used_at,
  evidence
FROM judged

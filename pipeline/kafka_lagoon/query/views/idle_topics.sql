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
  size_bytes COMMENT 'Bytes on disk of all replicas whose size is known, without future replicas; null if no size is known.',
  last_produced_at COMMENT 'When the first snapshot with the present end offset of the partition that was written to last began: records were written, or the log was truncated, before that and after the previous snapshot. Null if no end offset has moved since history_since: the first end offset that is known counts only if an earlier snapshot shows that the partition was absent.',
  last_record_timestamp COMMENT 'Largest timestamp of a record, which the producer may have chosen; null if none is known.',
  groups COMMENT 'Groups that have a commit on the topic.',
  last_committed_at COMMENT 'When the first snapshot with the present commit of the group and partition that moved last began. Null if no commit has moved since history_since: the first commit that is known counts only if an earlier snapshot shows that the topic or the commit was absent.',
  members COMMENT 'Members of groups that subscribe to the topic by name, or own a partition of it.',
  last_used_at COMMENT 'The latest time at which the topic was in use according to the evidence; null if there is none.',
  evidence COMMENT 'Basis of last_used_at: members (there are members now), commits, records (the end of a log), record_timestamp (nothing moved, so not later than the first snapshot with the present end offsets), or none.'
)
COMMENT 'When each topic was last used, with the evidence: order by last_used_at to find idle topics. One row per topic of the latest published snapshot of each cluster. A consumer that uses assign() and does not commit leaves no trace, so missing evidence does not prove that a topic is unused.'
AS
WITH first_seen AS (
  SELECT cluster, cluster_id, min(captured_at) AS history_since FROM snapshots GROUP BY cluster, cluster_id
),
topics_now AS (
  SELECT topics.*
  FROM topics
  JOIN snapshots_now
    ON snapshots_now.cluster = topics.cluster
    AND snapshots_now.snapshot_id = topics.snapshot_id
    AND snapshots_now.snapshot_date = topics.snapshot_date
),
-- What first appears in a later snapshot is new only if an earlier snapshot shows that it was absent.
lists AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    captured_at,
    count(CASE WHEN table_name = 'topics' AND visibility = 'complete' THEN 1 END) AS has_topics,
    count(CASE WHEN table_name = 'consumer_groups' AND visibility = 'complete' THEN 1 END) AS has_groups,
    count(CASE WHEN table_name = 'committed_offsets' THEN 1 END) AS has_commits
  FROM table_coverage
  WHERE problem IS NULL AND table_name IN ('topics', 'consumer_groups', 'committed_offsets')
  GROUP BY cluster, cluster_id, snapshot_id, captured_at
),
failed_groups AS (
  SELECT DISTINCT cluster, snapshot_id FROM collection_failures WHERE api = 'OffsetFetch'
),
complete_lists AS (
  SELECT
    lists.cluster,
    lists.cluster_id,
    min(CASE WHEN has_topics > 0 THEN captured_at END) AS all_topics_at,
    min(
      CASE WHEN has_topics > 0 AND has_groups > 0 AND has_commits > 0 AND failed_groups.snapshot_id IS NULL THEN captured_at END
    ) AS all_commits_at
  FROM lists
  LEFT JOIN failed_groups
    ON failed_groups.cluster = lists.cluster
    AND failed_groups.snapshot_id = lists.snapshot_id
  GROUP BY lists.cluster, lists.cluster_id
),
-- Rows without an id may be about the same topic.
topics_before AS (
  SELECT
    topics_now.cluster,
    topics_now.topic,
    min(CASE WHEN history.topic_id <> topics_now.topic_id THEN NULL ELSE history.captured_at END) AS topic_since,
    min(CASE WHEN history.topic_id <> topics_now.topic_id THEN history.captured_at END) AS other_topic_at
  FROM topics_now
  JOIN topics_published AS history
    ON history.cluster = topics_now.cluster
    AND history.cluster_id IS NOT DISTINCT FROM topics_now.cluster_id
    AND history.topic = topics_now.topic
  GROUP BY topics_now.cluster, topics_now.topic
),
new_topics AS (
  SELECT topics_now.cluster, topics_now.topic, topics_before.topic_since
  FROM topics_now
  JOIN topics_before
    ON topics_before.cluster = topics_now.cluster
    AND topics_before.topic = topics_now.topic
  LEFT JOIN complete_lists
    ON complete_lists.cluster = topics_now.cluster
    AND complete_lists.cluster_id IS NOT DISTINCT FROM topics_now.cluster_id
  WHERE
    topics_before.other_topic_at < topics_before.topic_since
    OR complete_lists.all_topics_at < topics_before.topic_since
),
ends_now AS (
  SELECT partition_offsets.*
  FROM partition_offsets
  JOIN snapshots_now
    ON snapshots_now.cluster = partition_offsets.cluster
    AND snapshots_now.snapshot_id = partition_offsets.snapshot_id
    AND snapshots_now.snapshot_date = partition_offsets.snapshot_date
),
-- A log that was truncated may have an end again that it had before. Brokers before Kafka 2.8 gave no ids.
ends_before AS (
  SELECT
    ends_now.cluster,
    ends_now.cluster_id,
    ends_now.topic,
    ends_now.topic_id,
    ends_now.partition,
    ends_now.high_watermark,
    min(history.captured_at) AS listed_since,
    max(
      CASE
        WHEN history.high_watermark <> ends_now.high_watermark AND history.captured_at < ends_now.captured_at
          THEN history.captured_at
      END
    ) AS other_end_at
  FROM ends_now
  JOIN partition_offsets_published AS history
    ON history.cluster = ends_now.cluster
    AND history.cluster_id IS NOT DISTINCT FROM ends_now.cluster_id
    AND history.topic = ends_now.topic
    AND coalesce(history.topic_id = ends_now.topic_id, TRUE)
    AND history.partition = ends_now.partition
  GROUP BY
    ends_now.cluster,
    ends_now.cluster_id,
    ends_now.topic,
    ends_now.topic_id,
    ends_now.partition,
    ends_now.high_watermark
),
new_partitions AS (
  SELECT DISTINCT ends_before.cluster, ends_before.topic, ends_before.partition
  FROM ends_before
  JOIN topics_published AS history
    ON history.cluster = ends_before.cluster
    AND history.cluster_id IS NOT DISTINCT FROM ends_before.cluster_id
    AND history.topic = ends_before.topic
    AND coalesce(history.topic_id = ends_before.topic_id, TRUE)
    AND history.partitions <= ends_before.partition
    AND history.captured_at < ends_before.listed_since
  UNION
  SELECT ends_before.cluster, ends_before.topic, ends_before.partition
  FROM ends_before
  JOIN new_topics
    ON new_topics.cluster = ends_before.cluster
    AND new_topics.topic = ends_before.topic
),
ends_since AS (
  SELECT
    ends_before.cluster,
    ends_before.topic,
    ends_before.partition,
    -- An end that was only unknown before has not moved.
    CASE
      WHEN max(ends_before.other_end_at) IS NOT NULL THEN min(history.captured_at)
      -- The end offset of a new and empty partition has not moved.
      WHEN max(new_partitions.partition) IS NOT NULL
        AND max(ends_before.high_watermark) > 0
        AND min(ends_before.listed_since) = min(history.captured_at)
        THEN min(history.captured_at)
    END AS end_since,
    min(history.captured_at) AS known_since
  FROM ends_before
  LEFT JOIN new_partitions
    ON new_partitions.cluster = ends_before.cluster
    AND new_partitions.topic = ends_before.topic
    AND new_partitions.partition = ends_before.partition
  JOIN partition_offsets_published AS history
    ON history.cluster = ends_before.cluster
    AND history.cluster_id IS NOT DISTINCT FROM ends_before.cluster_id
    AND history.topic = ends_before.topic
    AND coalesce(history.topic_id = ends_before.topic_id, TRUE)
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
    max(ends_since.end_since) AS last_produced_at,
    max(ends_since.known_since) AS known_since
  FROM ends_now
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
    commits_now.cluster_id,
    commits_now.topic,
    commits_now.partition,
    commits_now.group_id,
    commits_now.committed_offset,
    min(history.captured_at) AS listed_since,
    max(
      CASE
        WHEN history.committed_offset <> commits_now.committed_offset AND history.captured_at < commits_now.captured_at
          THEN history.captured_at
      END
    ) AS other_commit_at
  FROM commits_now
  JOIN committed_offsets_published AS history
    ON history.cluster = commits_now.cluster
    AND history.cluster_id IS NOT DISTINCT FROM commits_now.cluster_id
    AND history.group_id = commits_now.group_id
    AND history.topic = commits_now.topic
    AND history.partition = commits_now.partition
  GROUP BY
    commits_now.cluster,
    commits_now.cluster_id,
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
    CASE
      WHEN max(commits_before.other_commit_at) IS NOT NULL THEN min(history.captured_at)
      -- A commit that is listed before the topic belongs to an earlier topic of the name.
      WHEN max(new_topics.topic_since) <= min(commits_before.listed_since) THEN min(history.captured_at)
      WHEN max(complete_lists.all_commits_at) < min(commits_before.listed_since) THEN min(history.captured_at)
    END AS commit_since
  FROM commits_before
  LEFT JOIN new_topics
    ON new_topics.cluster = commits_before.cluster
    AND new_topics.topic = commits_before.topic
  LEFT JOIN complete_lists
    ON complete_lists.cluster = commits_before.cluster
    AND complete_lists.cluster_id IS NOT DISTINCT FROM commits_before.cluster_id
  JOIN committed_offsets_published AS history
    ON history.cluster = commits_before.cluster
    AND history.cluster_id IS NOT DISTINCT FROM commits_before.cluster_id
    AND history.group_id = commits_before.group_id
    AND history.topic = commits_before.topic
    AND history.partition = commits_before.partition
    AND history.committed_offset = commits_before.committed_offset
    AND (commits_before.other_commit_at IS NULL OR history.captured_at > commits_before.other_commit_at)
  GROUP BY commits_before.cluster, commits_before.topic, commits_before.partition, commits_before.group_id
),
readers AS (
  SELECT
    cluster,
    topic,
    count(DISTINCT group_id) AS groups,
    max(commit_since) AS last_committed_at
  FROM commits_since
  GROUP BY cluster, topic
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
  LEFT JOIN partitions
    ON partitions.cluster = log_dirs.cluster
    AND partitions.snapshot_id = log_dirs.snapshot_id
    AND partitions.snapshot_date = log_dirs.snapshot_date
    AND partitions.topic = log_dirs.topic
    AND partitions.partition = log_dirs.partition
  -- Without logs of brokers that are no replicas of the partition any more.
  WHERE NOT log_dirs.is_future AND coalesce(array_contains(partitions.replicas, log_dirs.broker_id), TRUE)
  GROUP BY log_dirs.cluster, log_dirs.topic
),
known AS (
  SELECT
    topics_now.cluster,
    topics_now.cluster_id,
    topics_now.snapshot_id,
    topics_now.captured_at,
    first_seen.history_since,
    topics_now.topic,
    topics_now.topic_id,
    topics_now.is_internal,
    topics_now.partitions,
    coalesce(logs.known_partitions, 0) AS known_partitions,
    logs.records,
    sizes.size_bytes,
    logs.last_produced_at,
    logs.last_record_timestamp,
    coalesce(logs.known_since, first_seen.history_since) AS known_since,
    coalesce(readers.groups, 0) AS groups,
    readers.last_committed_at,
    coalesce(subscribers.members, 0) AS members
  FROM topics_now
  JOIN first_seen
    ON first_seen.cluster = topics_now.cluster
    AND first_seen.cluster_id IS NOT DISTINCT FROM topics_now.cluster_id
  LEFT JOIN logs
    ON logs.cluster = topics_now.cluster
    AND logs.topic = topics_now.topic
  LEFT JOIN readers
    ON readers.cluster = topics_now.cluster
    AND readers.topic = topics_now.topic
  LEFT JOIN subscribers
    ON subscribers.cluster = topics_now.cluster
    AND subscribers.topic = topics_now.topic
  LEFT JOIN sizes
    ON sizes.cluster = topics_now.cluster
    AND sizes.topic = topics_now.topic
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
    WHEN 'record_timestamp' THEN least(last_record_timestamp, known_since)
  END AS last_used_at,
  evidence
FROM judged

CREATE OR REPLACE VIEW owner_totals (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The latest published snapshot of the cluster.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  owner COMMENT 'The team in table owners; null for topics and groups that nobody owns.',
  topics COMMENT 'Topics of the team.',
  described_topics COMMENT 'Topics that could be described: columns about partitions are about these only.',
  partitions COMMENT 'Partitions of these topics.',
  replicas COMMENT 'Replicas that these partitions should have; null if metadata does not return those of a partition.',
  sized_replicas COMMENT 'Replicas whose size is known, without future replicas.',
  size_bytes COMMENT 'Bytes of these replicas on the disks of all brokers, without remote storage; 0 if the team has no topic and the list of topics is proven to be complete; null if no size is known.',
  size_unknown_because COMMENT 'Why size_bytes is not that of all topics: skipped, not_offered, failed or partial (the outcome of table log_dirs in view table_states), not_collected (by version 0.1.0), not_listed (no log directory lists the replica), replicas_unknown, or topics_unknown (a topic could not be described, or the list of topics may be incomplete and has none of the team). Null if all sizes are known.',
  known_partitions COMMENT 'Partitions whose offsets are known.',
  records COMMENT 'Offsets in the logs of these partitions, each counted once and not once per replica; 0 if the team has no topic and the list of topics is proven to be complete; null if none is known.',
  groups COMMENT 'Consumer groups of the team, whoever owns the topics that they read.',
  stopped_groups COMMENT 'Groups of the team that are expected to be stopped: should_run is false in table expected_groups.',
  group_partitions COMMENT 'Partitions that these groups have committed offsets of, are assigned or subscribe to.',
  known_group_partitions COMMENT 'Those whose lag is known.',
  lag COMMENT 'Sum of lag over known_group_partitions, in which negative lags count, too, cut to 2^63-1 and -(2^63-1); 0 if the team has no group and the list of groups is proven to be complete; null if no lag is known.'
)
COMMENT 'Bytes, records and lag of each team in the latest published snapshot of each cluster, one row per owner, and one for what nobody owns.'
AS
WITH owned AS (
  SELECT
    owners_published.cluster,
    owners_published.entity_type,
    owners_published.name,
    owners_published.owner
  FROM owners_published
  JOIN snapshots_now
    ON snapshots_now.cluster = owners_published.cluster
    AND snapshots_now.snapshot_id = owners_published.snapshot_id
    AND snapshots_now.snapshot_date = owners_published.snapshot_date
),
sizes AS (
  SELECT
    log_dirs.cluster,
    log_dirs.topic,
    count(*) AS sized_replicas,
    CAST(sum(log_dirs.size_bytes) AS BIGINT) AS size_bytes
  FROM log_dirs
  JOIN snapshots_now
    ON snapshots_now.cluster = log_dirs.cluster
    AND snapshots_now.snapshot_id = log_dirs.snapshot_id
    AND snapshots_now.snapshot_date = log_dirs.snapshot_date
  -- Without logs of brokers that are no replicas of the partition any more.
  JOIN partitions
    ON partitions.cluster = log_dirs.cluster
    AND partitions.snapshot_id = log_dirs.snapshot_id
    AND partitions.snapshot_date = log_dirs.snapshot_date
    AND partitions.topic = log_dirs.topic
    AND partitions.partition = log_dirs.partition
    AND coalesce(array_contains(partitions.replicas, log_dirs.broker_id), TRUE)
  WHERE NOT log_dirs.is_future AND log_dirs.size_bytes IS NOT NULL
  GROUP BY log_dirs.cluster, log_dirs.topic
),
logs AS (
  SELECT
    partitions.cluster,
    partitions.topic,
    count(*) AS partitions,
    CASE WHEN count(partitions.replicas) = count(*) THEN CAST(sum(cardinality(partitions.replicas)) AS BIGINT) END AS replicas,
    count(ends.high_watermark - ends.log_start_offset) AS known_partitions,
    CAST(sum(ends.high_watermark - ends.log_start_offset) AS BIGINT) AS records
  FROM partitions
  JOIN snapshots_now
    ON snapshots_now.cluster = partitions.cluster
    AND snapshots_now.snapshot_id = partitions.snapshot_id
    AND snapshots_now.snapshot_date = partitions.snapshot_date
  LEFT JOIN partition_offsets AS ends
    ON ends.cluster = partitions.cluster
    AND ends.snapshot_id = partitions.snapshot_id
    AND ends.snapshot_date = partitions.snapshot_date
    AND ends.topic = partitions.topic
    AND ends.partition = partitions.partition
  GROUP BY partitions.cluster, partitions.topic
),
behind AS (
  SELECT
    cluster,
    group_id,
    count(*) AS partitions,
    count(lag) AS known_partitions,
    {sum_of_lag} AS lag
  FROM lag_now
  GROUP BY cluster, group_id
),
of_topics AS (
  SELECT
    topics.cluster,
    owned.owner,
    count(*) AS topics,
    count(topics.partitions) AS described_topics,
    coalesce(sum(logs.partitions), 0) AS partitions,
    CASE WHEN count(logs.replicas) = count(logs.partitions) THEN coalesce(sum(logs.replicas), 0) END AS replicas,
    coalesce(sum(sizes.sized_replicas), 0) AS sized_replicas,
    sum(sizes.size_bytes) AS size_bytes,
    coalesce(sum(logs.known_partitions), 0) AS known_partitions,
    sum(logs.records) AS records
  FROM topics
  JOIN snapshots_now
    ON snapshots_now.cluster = topics.cluster
    AND snapshots_now.snapshot_id = topics.snapshot_id
    AND snapshots_now.snapshot_date = topics.snapshot_date
  LEFT JOIN owned
    ON owned.cluster = topics.cluster
    AND owned.entity_type = 'topic'
    AND owned.name = topics.topic
  LEFT JOIN logs
    ON logs.cluster = topics.cluster
    AND logs.topic = topics.topic
  LEFT JOIN sizes
    ON sizes.cluster = topics.cluster
    AND sizes.topic = topics.topic
  GROUP BY topics.cluster, owned.owner
),
of_groups AS (
  SELECT
    consumer_groups.cluster,
    owned.owner,
    count(*) AS groups,
    count(CASE WHEN NOT expected.should_run THEN 1 END) AS stopped_groups,
    coalesce(sum(behind.partitions), 0) AS partitions,
    coalesce(sum(behind.known_partitions), 0) AS known_partitions,
    {sum_of_lag_behind} AS lag
  FROM consumer_groups
  JOIN snapshots_now
    ON snapshots_now.cluster = consumer_groups.cluster
    AND snapshots_now.snapshot_id = consumer_groups.snapshot_id
    AND snapshots_now.snapshot_date = consumer_groups.snapshot_date
  LEFT JOIN owned
    ON owned.cluster = consumer_groups.cluster
    AND owned.entity_type = 'group'
    AND owned.name = consumer_groups.group_id
  LEFT JOIN expected_groups_published AS expected
    ON expected.cluster = consumer_groups.cluster
    AND expected.snapshot_id = consumer_groups.snapshot_id
    AND expected.snapshot_date = consumer_groups.snapshot_date
    AND expected.group_id = consumer_groups.group_id
  LEFT JOIN behind
    ON behind.cluster = consumer_groups.cluster
    AND behind.group_id = consumer_groups.group_id
  GROUP BY consumer_groups.cluster, owned.owner
),
-- Who owns no topic has 0 bytes, unless topics may be missing in the snapshot: because requests failed, because permissions may
-- hide them, or because settings leave them out.
short_lists AS (
  SELECT
    coverage.cluster,
    coverage.snapshot_id,
    CASE coverage.api WHEN 'Metadata' THEN 'topics' ELSE 'consumer_groups' END AS table_name
  FROM coverage
  JOIN snapshots_now
    ON snapshots_now.cluster = coverage.cluster
    AND snapshots_now.snapshot_id = coverage.snapshot_id
    AND snapshots_now.snapshot_date = coverage.snapshot_date
  WHERE coverage.api IN ('Metadata', 'ListGroups') AND (coverage.visibility <> 'complete' OR coverage.left_out > 0)
),
complete_lists AS (
  SELECT
    table_states.cluster,
    bool_or(table_states.table_name = 'topics') AS topics,
    bool_or(table_states.table_name = 'consumer_groups') AS groups
  FROM table_states
  JOIN snapshots_now
    ON snapshots_now.cluster = table_states.cluster
    AND snapshots_now.snapshot_id = table_states.snapshot_id
    AND snapshots_now.snapshot_date = table_states.snapshot_date
  ANTI JOIN short_lists
    ON short_lists.cluster = table_states.cluster
    AND short_lists.snapshot_id = table_states.snapshot_id
    AND short_lists.table_name = table_states.table_name
  WHERE table_states.table_name IN ('topics', 'consumer_groups') AND table_states.outcome = 'complete'
  GROUP BY table_states.cluster
),
teams AS (
  SELECT cluster, owner FROM of_topics
  UNION
  SELECT cluster, owner FROM of_groups
)
SELECT
  snapshots_now.cluster,
  snapshots_now.cluster_id,
  snapshots_now.snapshot_id,
  snapshots_now.captured_at,
  teams.owner,
  coalesce(of_topics.topics, 0) AS topics,
  coalesce(of_topics.described_topics, 0) AS described_topics,
  CAST(coalesce(of_topics.partitions, 0) AS BIGINT) AS partitions,
  CAST(CASE WHEN of_topics.cluster IS NULL THEN 0 ELSE of_topics.replicas END AS BIGINT) AS replicas,
  CAST(coalesce(of_topics.sized_replicas, 0) AS BIGINT) AS sized_replicas,
  CAST(CASE WHEN of_topics.cluster IS NULL AND complete_lists.topics THEN 0 ELSE of_topics.size_bytes END AS BIGINT) AS size_bytes,
  CASE
    WHEN of_topics.cluster IS NULL AND complete_lists.topics THEN NULL
    WHEN of_topics.cluster IS NULL THEN 'topics_unknown'
    WHEN of_topics.replicas IS NULL THEN 'replicas_unknown'
    WHEN of_topics.sized_replicas >= of_topics.replicas
      THEN CASE WHEN of_topics.described_topics < of_topics.topics THEN 'topics_unknown' END
    WHEN coalesce(log_dirs_state.outcome, 'not_collected') <> 'complete' THEN coalesce(log_dirs_state.outcome, 'not_collected')
    ELSE 'not_listed'
  END AS size_unknown_because,
  CAST(coalesce(of_topics.known_partitions, 0) AS BIGINT) AS known_partitions,
  CAST(CASE WHEN of_topics.cluster IS NULL AND complete_lists.topics THEN 0 ELSE of_topics.records END AS BIGINT) AS records,
  coalesce(of_groups.groups, 0) AS groups,
  coalesce(of_groups.stopped_groups, 0) AS stopped_groups,
  CAST(coalesce(of_groups.partitions, 0) AS BIGINT) AS group_partitions,
  CAST(coalesce(of_groups.known_partitions, 0) AS BIGINT) AS known_group_partitions,
  CAST(CASE WHEN of_groups.cluster IS NULL AND complete_lists.groups THEN 0 ELSE of_groups.lag END AS BIGINT) AS lag
FROM snapshots_now
JOIN teams
  ON teams.cluster = snapshots_now.cluster
LEFT JOIN of_topics
  ON of_topics.cluster = teams.cluster
  AND of_topics.owner IS NOT DISTINCT FROM teams.owner
LEFT JOIN of_groups
  ON of_groups.cluster = teams.cluster
  AND of_groups.owner IS NOT DISTINCT FROM teams.owner
LEFT JOIN complete_lists
  ON complete_lists.cluster = snapshots_now.cluster
LEFT JOIN table_states AS log_dirs_state
  ON log_dirs_state.cluster = snapshots_now.cluster
  AND log_dirs_state.snapshot_id = snapshots_now.snapshot_id
  AND log_dirs_state.snapshot_date = snapshots_now.snapshot_date
  AND log_dirs_state.table_name = 'log_dirs'

CREATE OR REPLACE VIEW lag_by_group (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself; null if no broker named it.',
  snapshot_id COMMENT 'The latest published snapshot of the cluster.',
  captured_at COMMENT 'When that snapshot began to look at the cluster.',
  group_id COMMENT 'group.id; any text, so escape it where it is shown.',
  group_type COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers cannot say.',
  state COMMENT 'State as Kafka spells it; null if problem is set.',
  members COMMENT 'Number of members; null if problem is set.',
  topics COMMENT 'Topics of these partitions.',
  partitions COMMENT 'Partitions that the group has committed, is assigned or subscribes to.',
  known_partitions COMMENT 'Those whose lag is known: lag and worst_lag are about these alone.',
  lag COMMENT 'Sum of lag over known_partitions, raw; null if there is none.',
  worst_lag COMMENT 'Largest lag of one partition; null if none is known.',
  worst_topic COMMENT 'Topic of that partition.',
  worst_partition COMMENT 'Number of that partition.',
  uncommitted_partitions COMMENT 'Partitions without a commit, whose lag is therefore null.',
  unowned_partitions COMMENT 'Partitions that no member owns.',
  loss_known_partitions COMMENT 'Partitions for which it is known whether records were lost.',
  records_lost COMMENT 'Sum of records_lost over loss_known_partitions; null if there is none.',
  retention_margin COMMENT 'Smallest retention_margin of one partition; null if none is known.',
  problem COMMENT 'Why the group could not be described; null if it was.',
  problem_partitions COMMENT 'Partitions with a problem in lag_now: a side, or who owns it, is not known.'
)
COMMENT 'Groups in the latest published snapshot of each cluster and how far they are behind, one row per group.'
AS
SELECT
  consumer_groups.cluster,
  consumer_groups.cluster_id,
  consumer_groups.snapshot_id,
  consumer_groups.captured_at,
  consumer_groups.group_id,
  consumer_groups.group_type,
  consumer_groups.state,
  consumer_groups.members,
  coalesce(behind.topics, 0) AS topics,
  coalesce(behind.partitions, 0) AS partitions,
  coalesce(behind.known_partitions, 0) AS known_partitions,
  behind.lag,
  behind.worst_lag,
  behind.worst_topic,
  behind.worst_partition,
  coalesce(behind.uncommitted_partitions, 0) AS uncommitted_partitions,
  coalesce(behind.unowned_partitions, 0) AS unowned_partitions,
  coalesce(behind.loss_known_partitions, 0) AS loss_known_partitions,
  behind.records_lost,
  behind.retention_margin,
  consumer_groups.problem,
  coalesce(behind.problem_partitions, 0) AS problem_partitions
FROM consumer_groups
JOIN snapshots_now
  ON consumer_groups.cluster = snapshots_now.cluster
  AND consumer_groups.snapshot_id = snapshots_now.snapshot_id
  AND consumer_groups.snapshot_date = snapshots_now.snapshot_date
LEFT JOIN (
  SELECT
    snapshot_id,
    group_id,
    count(DISTINCT topic) AS topics,
    count(*) AS partitions,
    count(lag) AS known_partitions,
    CAST(sum(lag) AS BIGINT) AS lag,
    max(lag) AS worst_lag,
    max(CASE WHEN lag_rank = 1 AND lag IS NOT NULL THEN topic END) AS worst_topic,
    max(CASE WHEN lag_rank = 1 AND lag IS NOT NULL THEN partition END) AS worst_partition,
    count(CASE WHEN lag_basis = 'log_start' THEN 1 END) AS uncommitted_partitions,
    count(CASE WHEN member_id IS NULL THEN 1 END) AS unowned_partitions,
    count(records_lost) AS loss_known_partitions,
    CAST(sum(records_lost) AS BIGINT) AS records_lost,
    min(retention_margin) AS retention_margin,
    count(problem) AS problem_partitions
  FROM (
    SELECT
      lag_now.*,
      row_number() OVER (
        PARTITION BY snapshot_id, group_id
        ORDER BY lag DESC NULLS LAST, topic DESC, partition DESC
      ) AS lag_rank
    FROM lag_now
  ) AS ranked
  GROUP BY snapshot_id, group_id
) AS behind
  ON consumer_groups.snapshot_id = behind.snapshot_id AND consumer_groups.group_id = behind.group_id

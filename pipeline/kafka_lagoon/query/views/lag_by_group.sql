CREATE OR REPLACE VIEW lag_by_group (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The latest published snapshot of the cluster.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  group_type COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers do not return it.',
  state COMMENT 'State as Kafka spells it; null if unknown.',
  members COMMENT 'Number of members; null if the group could not be described.',
  topics COMMENT 'Topics of these partitions.',
  partitions COMMENT 'Partitions that the group has committed offsets of, is assigned or subscribes to.',
  known_partitions COMMENT 'Partitions whose lag is known: lag and worst_lag are about these only.',
  lag COMMENT 'Sum of lag over known_partitions, in which negative lags count, too, cut to 2^63-1 and -(2^63-1); null if there are none.',
  worst_lag COMMENT 'Largest lag of a partition; null if no lag is known.',
  worst_topic COMMENT 'Topic of that partition, the first by topic and partition if there are several.',
  worst_partition COMMENT 'Number of that partition.',
  uncommitted_partitions COMMENT 'Partitions without a commit, or that a share group has not read from yet, whose lag is therefore null.',
  unowned_partitions COMMENT 'Partitions without a known owner: all of them while a classic group rebalances, or if it could not be described.',
  loss_known_partitions COMMENT 'Partitions of which it is known whether records were lost.',
  records_lost COMMENT 'Sum of records_lost over loss_known_partitions; null if there are none.',
  retention_margin COMMENT 'Smallest retention_margin of a partition; null if none is known.',
  problem COMMENT 'Why the group could not be described, or its members not be read; null if all of it is known.',
  problem_partitions COMMENT 'Partitions with a problem in lag_now: the end offset, the commit or the owner is unknown.'
)
COMMENT 'Groups in the latest published snapshot of each cluster with their lag, one row per group.'
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
  behind.highest_lag AS worst_lag,
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
    {sums},
    max(CASE WHEN lag_rank = 1 AND lag IS NOT NULL THEN topic END) AS worst_topic,
    max(CASE WHEN lag_rank = 1 AND lag IS NOT NULL THEN partition END) AS worst_partition,
    count(CASE WHEN {uncommitted} THEN 1 END) AS uncommitted_partitions,
    count(CASE WHEN member_id IS NULL THEN 1 END) AS unowned_partitions,
    count(records_lost) AS loss_known_partitions,
    min(retention_margin) AS retention_margin,
    count(problem) AS problem_partitions
  FROM (
    SELECT
      lag_now.*,
      row_number() OVER (
        PARTITION BY snapshot_id, group_id
        ORDER BY lag DESC NULLS LAST, topic, partition
      ) AS lag_rank
    FROM lag_now
  ) AS ranked
  GROUP BY snapshot_id, group_id
) AS behind
  ON consumer_groups.snapshot_id = behind.snapshot_id AND consumer_groups.group_id = behind.group_id

CREATE OR REPLACE VIEW group_status (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  group_state COMMENT 'State of the group as Kafka spells it; null if unknown.',
  status COMMENT 'The worst of its partitions in view group_partition_status, in the order of Burrow: OK, WARN, STOP, STALL, REWIND. Null if no status is known.',
  worst_topic COMMENT 'Topic of the partition with that status, the partition with the largest lag if there are several, and the first by topic and partition of these; null if status is null.',
  worst_partition COMMENT 'Number of that partition; null if status is null.',
  worst_lag COMMENT 'Lag of that partition; null if status is null.',
  partitions COMMENT 'Partitions of the group in table consumer_lag.',
  ok_partitions COMMENT 'Partitions with status OK.',
  warn_partitions COMMENT 'Partitions with status WARN.',
  stop_partitions COMMENT 'Partitions with status STOP.',
  stall_partitions COMMENT 'Partitions with status STALL.',
  rewind_partitions COMMENT 'Partitions with status REWIND.',
  unknown_partitions COMMENT 'Partitions without status; status is that of the others only.',
  lag COMMENT 'Sum of the known lags, cut to 2^63-1 and -(2^63-1); null if no lag is known.',
  window_from COMMENT 'When the first snapshot of the window with a known lag and commit of a partition began; null if no partition has both.'
)
COMMENT 'Status of each group by the rules of Burrow: one row per group with partitions in consumer_lag and snapshot, with the worst status of its partitions.'
AS
WITH ranked AS (
  SELECT
    group_partition_status.*,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, group_id
      ORDER BY
        CASE status WHEN 'REWIND' THEN 5 WHEN 'STALL' THEN 4 WHEN 'STOP' THEN 3 WHEN 'WARN' THEN 2 WHEN 'OK' THEN 1 END
          DESC NULLS LAST,
        lag DESC NULLS LAST,
        topic,
        partition
    ) AS place
  FROM group_partition_status
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  group_id,
  max(group_state) AS group_state,
  max(CASE WHEN place = 1 THEN status END) AS status,
  max(CASE WHEN place = 1 AND status IS NOT NULL THEN topic END) AS worst_topic,
  max(CASE WHEN place = 1 AND status IS NOT NULL THEN partition END) AS worst_partition,
  max(CASE WHEN place = 1 AND status IS NOT NULL THEN lag END) AS worst_lag,
  count(*) AS partitions,
  count(CASE WHEN status = 'OK' THEN 1 END) AS ok_partitions,
  count(CASE WHEN status = 'WARN' THEN 1 END) AS warn_partitions,
  count(CASE WHEN status = 'STOP' THEN 1 END) AS stop_partitions,
  count(CASE WHEN status = 'STALL' THEN 1 END) AS stall_partitions,
  count(CASE WHEN status = 'REWIND' THEN 1 END) AS rewind_partitions,
  count(CASE WHEN status IS NULL THEN 1 END) AS unknown_partitions,
  {sum_of_lag} AS lag,
  min(window_from) AS window_from
FROM ranked
GROUP BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, group_id

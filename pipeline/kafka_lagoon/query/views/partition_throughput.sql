CREATE OR REPLACE VIEW {view} (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  high_watermark COMMENT 'End for readers; null if unknown.',
  records COMMENT 'Offsets in the log: high_watermark - log_start_offset. A compacted or transactional topic has fewer records. Null if either is unknown.',
  size_bytes COMMENT 'Bytes of the replica on the disk of its leader, without remote storage; null if there is no leader, or log_dirs does not have the replica.',
  previous_snapshot_id COMMENT 'The previous published snapshot of the cluster; null if there is none.',
  seconds COMMENT 'Seconds between the times at which the end offsets were read; null if either is unknown.',
  produced COMMENT 'How far the end offset has moved since then; negative if the log was truncated. Null if no_rate_because is set to anything but end_moved_back or no_time_passed.',
  records_per_second COMMENT 'Offsets produced per second; null if no_rate_because is set.',
  produced_bytes COMMENT 'Bytes that were added since then; null if bytes_method is null.',
  bytes_per_second COMMENT 'produced_bytes per second; null if bytes_method is null.',
  bytes_method COMMENT 'size_change: the leader and the start of the log are the same, and the growth of the replica is known (compaction makes it smaller than what was produced). mean_record: produced times the present mean size of an offset on disk. Null if neither is known: no_rate_because is set, no size, or an empty log.',
  no_rate_because COMMENT 'Why there is no rate: end_unknown (now), first_snapshot (no earlier snapshot), previous_end_unknown (or no row then), topic_recreated (another topic id, or none then), end_moved_back, no_time_passed (seconds is 0 or negative: the clock was set back). Null if there is a rate.'
)
COMMENT 'How much is produced to each partition: records by its end offset, bytes by the size of its leader replica, compared with the previous published snapshot; one row per partition and snapshot{of_days}.'
AS
-- GROUP BY joins the rows of both snapshots of a pair: each table is joined only to the few snapshot ids, so that a filter on
-- them limits the rows that are read. An outer join would read all of its right side.
WITH sides AS (
  SELECT cluster, snapshot_id, snapshot_date, captured_at, snapshot_id AS seen_id, snapshot_date AS seen_date, 1 AS now
  FROM {snapshots}
  UNION ALL
  SELECT cluster, snapshot_id, snapshot_date, captured_at, previous_snapshot_id, previous_snapshot_date, 0
  FROM {snapshots}
  WHERE previous_snapshot_id IS NOT NULL
),
seen AS (
  SELECT DISTINCT cluster, seen_id, seen_date FROM sides
),
replicas AS (
  SELECT
    seen.*, partitions.topic, partitions.partition, partitions.leader_id AS broker_id, CAST(NULL AS BIGINT) AS size_bytes,
    1 AS leads
  FROM seen
  JOIN partitions
    ON partitions.cluster = seen.cluster
    AND partitions.snapshot_id = seen.seen_id
    AND partitions.snapshot_date = seen.seen_date
  UNION ALL
  SELECT seen.*, log_dirs.topic, log_dirs.partition, log_dirs.broker_id, log_dirs.size_bytes, 0
  FROM seen
  JOIN log_dirs
    ON log_dirs.cluster = seen.cluster
    AND log_dirs.snapshot_id = seen.seen_id
    AND log_dirs.snapshot_date = seen.seen_date
  WHERE NOT log_dirs.is_future
),
leader_replicas AS (
  SELECT cluster, seen_id, seen_date, topic, partition, broker_id, max(size_bytes) AS size_bytes
  FROM replicas
  GROUP BY cluster, seen_id, seen_date, topic, partition, broker_id
  HAVING max(leads) = 1
),
facts AS (
  SELECT
    sides.*,
    partition_offsets.topic,
    partition_offsets.topic_id,
    partition_offsets.partition,
    partition_offsets.log_start_offset,
    partition_offsets.high_watermark,
    coalesce(partition_offsets.local_log_start_offset, partition_offsets.log_start_offset) AS disk_start_offset,
    partition_offsets.read_at,
    CAST(NULL AS INT) AS leader_id,
    CAST(NULL AS BIGINT) AS size_bytes,
    now AS is_end_now
  FROM sides
  JOIN partition_offsets
    ON partition_offsets.cluster = sides.cluster
    AND partition_offsets.snapshot_id = sides.seen_id
    AND partition_offsets.snapshot_date = sides.seen_date
  UNION ALL
  SELECT
    sides.*,
    leaders.topic,
    NULL,
    leaders.partition,
    NULL,
    NULL,
    NULL,
    NULL,
    leaders.broker_id,
    leaders.size_bytes,
    0
  FROM sides
  JOIN leader_replicas AS leaders
    ON leaders.cluster = sides.cluster
    AND leaders.seen_id = sides.seen_id
    AND leaders.seen_date = sides.seen_date
),
-- Grouped by few columns, and by the ones that filters are on; the others of the snapshots are added afterwards.
paired AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    captured_at,
    topic,
    partition,
    max(CASE WHEN now = 1 THEN topic_id END) AS topic_id,
    max(CASE WHEN now = 0 THEN topic_id END) AS topic_id_then,
    max(CASE WHEN now = 1 THEN log_start_offset END) AS log_start_offset,
    max(CASE WHEN now = 1 THEN disk_start_offset END) AS disk_start_offset,
    max(CASE WHEN now = 0 THEN disk_start_offset END) AS disk_start_then,
    max(CASE WHEN now = 1 THEN high_watermark END) AS high_watermark,
    max(CASE WHEN now = 0 THEN high_watermark END) AS end_then,
    max(CASE WHEN now = 1 THEN read_at END) AS read_at,
    max(CASE WHEN now = 0 THEN read_at END) AS read_then,
    max(CASE WHEN now = 1 THEN leader_id END) AS leader_id,
    max(CASE WHEN now = 0 THEN leader_id END) AS leader_then,
    max(CASE WHEN now = 1 THEN size_bytes END) AS size_bytes,
    max(CASE WHEN now = 0 THEN size_bytes END) AS size_then
  FROM facts
  GROUP BY cluster, snapshot_id, snapshot_date, captured_at, topic, partition
  HAVING max(is_end_now) = 1
),
paired_snapshots AS (
  SELECT paired.*, steps.cluster_id, steps.previous_snapshot_id
  FROM paired
  JOIN {snapshots} AS steps
    ON paired.cluster = steps.cluster
    AND paired.snapshot_id = steps.snapshot_id
    AND paired.snapshot_date = steps.snapshot_date
),
compared AS (
  SELECT
    paired_snapshots.*,
    (unix_millis(read_at) - unix_millis(read_then)) / 1000.0E0 AS seconds,
    high_watermark - log_start_offset AS records,
    high_watermark - end_then AS end_change,
    high_watermark - disk_start_offset AS offsets_on_disk,
    -- Deleted segments, and segments that are only in remote storage, are missing from the growth of a replica.
    CASE
      WHEN leader_id = leader_then AND disk_start_offset = disk_start_then AND size_bytes >= size_then
        THEN size_bytes - size_then
    END AS size_change,
    CASE
      WHEN high_watermark IS NULL THEN 'end_unknown'
      WHEN previous_snapshot_id IS NULL THEN 'first_snapshot'
      WHEN end_then IS NULL THEN 'previous_end_unknown'
      WHEN topic_id IS DISTINCT FROM topic_id_then THEN 'topic_recreated'
      WHEN high_watermark < end_then THEN 'end_moved_back'
      WHEN unix_millis(read_at) <= unix_millis(read_then) THEN 'no_time_passed'
    END AS no_rate_because
  FROM paired_snapshots
),
measured AS (
  SELECT
    compared.*,
    CASE
      WHEN no_rate_because IS NOT NULL THEN NULL
      WHEN size_change IS NOT NULL THEN 'size_change'
      WHEN size_bytes IS NOT NULL AND offsets_on_disk > 0 THEN 'mean_record'
    END AS bytes_method
  FROM compared
),
added AS (
  SELECT
    measured.*,
    CASE
      WHEN bytes_method = 'size_change' THEN CAST(size_change AS DOUBLE)
      WHEN bytes_method = 'mean_record' THEN end_change * CAST(size_bytes AS DOUBLE) / offsets_on_disk
    END AS produced_bytes
  FROM measured
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  topic,
  topic_id,
  partition,
  high_watermark,
  records,
  size_bytes,
  previous_snapshot_id,
  seconds,
  CASE WHEN no_rate_because IS NULL OR no_rate_because IN ('end_moved_back', 'no_time_passed') THEN end_change END AS produced,
  CASE WHEN no_rate_because IS NULL THEN end_change / nullif(seconds, 0) END AS records_per_second,
  produced_bytes,
  produced_bytes / nullif(seconds, 0) AS bytes_per_second,
  bytes_method,
  no_rate_because
FROM added

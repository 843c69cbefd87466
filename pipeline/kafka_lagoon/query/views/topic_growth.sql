CREATE OR REPLACE VIEW topic_growth (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_date COMMENT 'The UTC day.',
  snapshot_id COMMENT 'The last published snapshot of the day with this cluster_id, which the row is about.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partitions COMMENT 'Partitions of the topic.',
  replicas COMMENT 'Replicas that its partitions should have; null if metadata does not return them.',
  sized_replicas COMMENT 'Replicas whose size is known, without future replicas.',
  size_bytes COMMENT 'Bytes of these replicas on the disks of all brokers, without remote storage; null if no size is known.',
  known_partitions COMMENT 'Partitions whose offsets are known.',
  records COMMENT 'Offsets in the logs of these partitions; null if none is known.',
  previous_captured_at COMMENT 'When the last snapshot of the previous day began, if it has the topic with the same id, or else of the latest earlier day whose last snapshot has it; null if there is none, as are the columns that follow.',
  days COMMENT 'Days between the two snapshots, to the millisecond.',
  size_change COMMENT 'How much size_bytes has grown since then; null if a replica has no size in either snapshot.',
  size_change_per_day COMMENT 'size_change per day; null if size_change is null.',
  written COMMENT 'Offsets that were added since then, negative if the log was truncated; null if a partition is unknown in either snapshot.',
  written_per_day COMMENT 'written per day; null if written is null.',
  deleted COMMENT 'Offsets that retention or DeleteRecords removed since then; null if a partition is unknown in either snapshot.'
)
COMMENT 'The size of each topic at the end of each day, and its growth since the previous day: bytes on disk and offsets, one row per topic and day, today included. A topic that the last snapshot of a day lacks has no row of that day.'
AS
WITH ranked AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    row_number() OVER (PARTITION BY cluster, cluster_id, snapshot_date ORDER BY captured_at DESC, snapshot_id DESC) AS recency
  FROM snapshots
),
last_of_day AS (
  SELECT cluster, snapshot_id, snapshot_date FROM ranked WHERE recency = 1
),
sizes AS (
  SELECT
    log_dirs.cluster,
    log_dirs.snapshot_id,
    log_dirs.snapshot_date,
    log_dirs.topic,
    count(*) AS sized_replicas,
    CAST(sum(log_dirs.size_bytes) AS BIGINT) AS size_bytes
  FROM log_dirs
  JOIN last_of_day
    ON last_of_day.cluster = log_dirs.cluster
    AND last_of_day.snapshot_id = log_dirs.snapshot_id
    AND last_of_day.snapshot_date = log_dirs.snapshot_date
  -- Without logs of brokers that are no replicas of the partition any more.
  JOIN partitions
    ON partitions.cluster = log_dirs.cluster
    AND partitions.snapshot_id = log_dirs.snapshot_id
    AND partitions.snapshot_date = log_dirs.snapshot_date
    AND partitions.topic = log_dirs.topic
    AND partitions.partition = log_dirs.partition
    AND coalesce(array_contains(partitions.replicas, log_dirs.broker_id), TRUE)
  WHERE NOT log_dirs.is_future AND log_dirs.size_bytes IS NOT NULL
  GROUP BY log_dirs.cluster, log_dirs.snapshot_id, log_dirs.snapshot_date, log_dirs.topic
),
logs AS (
  SELECT
    partitions.cluster,
    partitions.cluster_id,
    partitions.snapshot_id,
    partitions.snapshot_date,
    partitions.captured_at,
    partitions.topic,
    partitions.topic_id,
    count(*) AS partitions,
    CASE WHEN count(partitions.replicas) = count(*) THEN CAST(sum(cardinality(partitions.replicas)) AS BIGINT) END AS replicas,
    count(ends.high_watermark - ends.log_start_offset) AS known_partitions,
    CAST(sum(ends.high_watermark - ends.log_start_offset) AS BIGINT) AS records,
    CAST(sum(ends.high_watermark) AS BIGINT) AS end_sum,
    CAST(sum(ends.log_start_offset) AS BIGINT) AS start_sum
  FROM partitions
  JOIN last_of_day
    ON last_of_day.cluster = partitions.cluster
    AND last_of_day.snapshot_id = partitions.snapshot_id
    AND last_of_day.snapshot_date = partitions.snapshot_date
  LEFT JOIN partition_offsets AS ends
    ON ends.cluster = partitions.cluster
    AND ends.snapshot_id = partitions.snapshot_id
    AND ends.snapshot_date = partitions.snapshot_date
    AND ends.topic = partitions.topic
    AND ends.partition = partitions.partition
  GROUP BY
    partitions.cluster,
    partitions.cluster_id,
    partitions.snapshot_id,
    partitions.snapshot_date,
    partitions.captured_at,
    partitions.topic,
    partitions.topic_id
),
measured AS (
  SELECT
    logs.*,
    coalesce(sizes.sized_replicas, 0) AS sized_replicas,
    sizes.size_bytes,
    CASE WHEN sizes.sized_replicas >= logs.replicas THEN sizes.size_bytes END AS whole_size,
    CASE WHEN logs.known_partitions = logs.partitions THEN logs.end_sum END AS whole_end,
    CASE WHEN logs.known_partitions = logs.partitions THEN logs.start_sum END AS whole_start
  FROM logs
  LEFT JOIN sizes
    ON sizes.cluster = logs.cluster
    AND sizes.snapshot_id = logs.snapshot_id
    AND sizes.snapshot_date = logs.snapshot_date
    AND sizes.topic = logs.topic
),
compared AS (
  SELECT
    measured.*,
    lag(captured_at) OVER earlier AS previous_captured_at,
    (unix_millis(captured_at) - unix_millis(lag(captured_at) OVER earlier)) / 86400000.0E0 AS days,
    whole_size - lag(whole_size) OVER earlier AS size_change,
    whole_end - lag(whole_end) OVER earlier AS written,
    whole_start - lag(whole_start) OVER earlier AS deleted
  FROM measured
  WINDOW earlier AS (PARTITION BY cluster, cluster_id, topic, topic_id ORDER BY snapshot_date)
)
SELECT
  cluster,
  cluster_id,
  snapshot_date,
  snapshot_id,
  captured_at,
  topic,
  topic_id,
  partitions,
  replicas,
  sized_replicas,
  size_bytes,
  known_partitions,
  records,
  previous_captured_at,
  days,
  size_change,
  size_change / nullif(days, 0) AS size_change_per_day,
  written,
  written / nullif(days, 0) AS written_per_day,
  deleted
FROM compared

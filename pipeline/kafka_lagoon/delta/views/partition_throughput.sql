CREATE OR REPLACE VIEW partition_throughput (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself; null if no broker named it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When that snapshot began to look at the cluster.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers give none.',
  partition COMMENT 'Partition number.',
  high_watermark COMMENT 'End for readers; null if unknown.',
  records COMMENT 'Offsets in the log: high_watermark - log_start_offset. A compacted or transactional topic has fewer records. Null if either is unknown.',
  size_bytes COMMENT 'Bytes of the replica on the disk of its leader, without remote storage; null if unknown: no leader, or log_dirs does not have it.',
  previous_snapshot_id COMMENT 'The published snapshot of the cluster before this one; null if there is none.',
  seconds COMMENT 'Seconds between the times at which the ends were read; null if one is unknown.',
  produced COMMENT 'How far the end has moved since, in offsets; negative if the log was truncated. Null if no_rate_because says why.',
  records_per_second COMMENT 'produced per second; null if no_rate_because is set.',
  produced_bytes COMMENT 'Bytes that were added since; null if bytes_method is.',
  bytes_per_second COMMENT 'produced_bytes per second; null if bytes_method is.',
  bytes_method COMMENT 'size_change: the leader is the same, nothing was deleted, and the replica grew by so much. mean_record: produced times the mean size of an offset on disk now. Null if neither is known: no_rate_because, no size, or an empty log.',
  no_rate_because COMMENT 'end_unknown (now), first_snapshot (none before), previous_end_unknown (or no row then), topic_recreated (another topic id, or none then), end_moved_back. Null if there is a rate.'
)
COMMENT 'How much is produced to each partition: records by its end offset, bytes by the size of its leader replica, each published snapshot against the one before it; one row per partition and snapshot.'
AS
WITH replica_sizes AS (
  SELECT
    partitions.cluster,
    partitions.snapshot_id,
    partitions.snapshot_date,
    partitions.topic,
    partitions.partition,
    partitions.leader_id,
    max(log_dirs.size_bytes) AS size_bytes
  FROM partitions
  JOIN log_dirs
    ON log_dirs.cluster = partitions.cluster
    AND log_dirs.snapshot_id = partitions.snapshot_id
    AND log_dirs.snapshot_date = partitions.snapshot_date
    AND log_dirs.topic = partitions.topic
    AND log_dirs.partition = partitions.partition
    AND log_dirs.broker_id = partitions.leader_id
  WHERE NOT log_dirs.is_future
  GROUP BY
    partitions.cluster,
    partitions.snapshot_id,
    partitions.snapshot_date,
    partitions.topic,
    partitions.partition,
    partitions.leader_id
),
compared AS (
  SELECT
    this.*,
    pair.previous_snapshot_id,
    (unix_millis(this.read_at) - unix_millis(earlier.read_at)) / 1000.0E0 AS seconds,
    this.high_watermark - this.log_start_offset AS records,
    this.high_watermark - earlier.high_watermark AS end_change,
    size_now.size_bytes,
    -- Deleted segments and those that only remote storage has make a replica smaller than what was added to it.
    CASE
      WHEN size_now.leader_id = size_then.leader_id
        AND coalesce(this.local_log_start_offset, this.log_start_offset)
          = coalesce(earlier.local_log_start_offset, earlier.log_start_offset)
        AND size_now.size_bytes >= size_then.size_bytes
        THEN size_now.size_bytes - size_then.size_bytes
    END AS size_change,
    this.high_watermark - coalesce(this.local_log_start_offset, this.log_start_offset) AS offsets_on_disk,
    CASE
      WHEN this.high_watermark IS NULL THEN 'end_unknown'
      WHEN pair.previous_snapshot_id IS NULL THEN 'first_snapshot'
      WHEN earlier.high_watermark IS NULL THEN 'previous_end_unknown'
      WHEN this.topic_id IS DISTINCT FROM earlier.topic_id THEN 'topic_recreated'
      WHEN this.high_watermark < earlier.high_watermark THEN 'end_moved_back'
    END AS no_rate_because
  FROM partition_offsets AS this
  JOIN consecutive_snapshots AS pair
    ON pair.cluster = this.cluster
    AND pair.snapshot_id = this.snapshot_id
    AND pair.snapshot_date = this.snapshot_date
  LEFT JOIN partition_offsets AS earlier
    ON earlier.cluster = pair.cluster
    AND earlier.snapshot_id = pair.previous_snapshot_id
    AND earlier.snapshot_date = pair.previous_snapshot_date
    AND earlier.topic = this.topic
    AND earlier.partition = this.partition
  LEFT JOIN replica_sizes AS size_now
    ON size_now.cluster = pair.cluster
    AND size_now.snapshot_id = pair.snapshot_id
    AND size_now.snapshot_date = pair.snapshot_date
    AND size_now.topic = this.topic
    AND size_now.partition = this.partition
  LEFT JOIN replica_sizes AS size_then
    ON size_then.cluster = pair.cluster
    AND size_then.snapshot_id = pair.previous_snapshot_id
    AND size_then.snapshot_date = pair.previous_snapshot_date
    AND size_then.topic = this.topic
    AND size_then.partition = this.partition
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
  CASE WHEN no_rate_because IS NULL OR no_rate_because = 'end_moved_back' THEN end_change END AS produced,
  CASE WHEN no_rate_because IS NULL THEN end_change / nullif(seconds, 0) END AS records_per_second,
  produced_bytes,
  produced_bytes / nullif(seconds, 0) AS bytes_per_second,
  bytes_method,
  no_rate_because
FROM added

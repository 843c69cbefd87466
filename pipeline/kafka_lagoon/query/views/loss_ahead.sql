CREATE OR REPLACE VIEW loss_ahead (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  committed_offset COMMENT 'Next offset that the group will read.',
  log_start_offset COMMENT 'First offset that can be read; null if unknown.',
  lag COMMENT 'high_watermark - committed_offset.',
  records_lost COMMENT 'Offsets deleted before the group read them; null if unknown. The estimates are then about the remaining records.',
  retention_margin COMMENT 'The margin in offsets: how many offsets retention may delete before the group loses records. Negative if the group has already lost records; null if unknown.',
  first_unread_timestamp COMMENT 'Timestamp of the first unread record, as in table consumer_lag; null if unknown.',
  time_lag_method COMMENT 'How it was measured; null if it was not measured.',
  cleanup_policy COMMENT 'cleanup.policy of the topic; null if its configs were not read, as are the three columns that follow.',
  retention_ms COMMENT 'retention.ms of the topic; -1 means no limit.',
  retention_bytes COMMENT 'retention.bytes of the topic, for each partition; -1 means no limit.',
  segment_ms COMMENT 'segment.ms of the topic. A segment is deleted as a whole, by its newest record.',
  expires_at COMMENT 'When the first unread record becomes older than retention.ms; its segment is deleted between then and expires_at_latest. Null if that cannot happen, or if the timestamp is unknown.',
  expires_at_latest COMMENT 'expires_at plus segment.ms: newer records in the same segment may keep it until then. The check interval of brokers comes in addition (log.retention.check.interval.ms). Null if expires_at or segment_ms is null.',
  size_reached_at COMMENT 'When the records after the commit will be as large as retention.bytes, if the log grows as fast as since history_from, by its mean size of a record; captured_at if they are already. Null if that cannot happen or cannot be computed.',
  log_start_reached_at COMMENT 'When the log start offset reaches the commit if it advances as fast as since history_from. It advances by segments, so this is coarse. Null if it did not advance, or there is no history.',
  history_from COMMENT 'The earliest published snapshot of the cluster in the previous 24 hours; null if there is none, or if it does not have the partition.',
  loss_at COMMENT 'Estimate of when retention reaches the first unread record if the group reads nothing: the earlier of expires_at and size_reached_at, otherwise log_start_reached_at. Null if no_estimate_because is set.',
  seconds_left COMMENT 'The margin in time: seconds from captured_at to loss_at, 0 or negative if the records may be deleted at any moment. Null if loss_at is null.',
  evidence COMMENT 'Basis of loss_at: retention_ms (a record timestamp), retention_bytes (sizes and growth) or log_start_history. Null if loss_at is null.',
  no_estimate_because COMMENT 'Why there is no loss_at: nothing_unread, not_deleted (no limit in retention.bytes, and none below 317 years in retention.ms), compacted (cleanup.policy without delete), configs_unknown (and no history), or not_measured (timestamps, sizes and history are not enough). Otherwise null.'
)
COMMENT 'When retention will delete records that a group has not read: one row per group, partition and published snapshot with a known lag, except of share groups. Deletion from the local disk of tiered topics is not counted as loss.'
AS
WITH histories AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    first_value(snapshot_id) OVER day_before AS from_snapshot_id,
    first_value(snapshot_date) OVER day_before AS from_snapshot_date,
    first_value(captured_at) OVER day_before AS from_captured_at
  FROM snapshots
  WINDOW day_before AS (
    PARTITION BY cluster, cluster_id
    ORDER BY unix_millis(captured_at)
    RANGE BETWEEN 86400000 PRECEDING AND CURRENT ROW
  )
),
rates AS (
  SELECT
    ends.cluster,
    ends.snapshot_id,
    ends.snapshot_date,
    ends.topic,
    ends.partition,
    history.from_captured_at AS history_from,
    (ends.high_watermark - earlier.high_watermark) * 1000.0E0
      / nullif(unix_millis(ends.captured_at) - unix_millis(history.from_captured_at), 0) AS produce_rate,
    (ends.log_start_offset - earlier.log_start_offset) * 1000.0E0
      / nullif(unix_millis(ends.captured_at) - unix_millis(history.from_captured_at), 0) AS delete_rate
  FROM partition_offsets_published AS ends
  JOIN histories AS history
    ON ends.cluster = history.cluster
    AND ends.snapshot_id = history.snapshot_id
    AND ends.snapshot_date = history.snapshot_date
    AND ends.snapshot_id <> history.from_snapshot_id
  JOIN partition_offsets AS earlier
    ON earlier.cluster = history.cluster
    AND earlier.snapshot_id = history.from_snapshot_id
    AND earlier.snapshot_date = history.from_snapshot_date
    AND earlier.topic = ends.topic
    AND earlier.partition = ends.partition
    AND earlier.topic_id IS NOT DISTINCT FROM ends.topic_id
),
limits AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    resource_name AS topic,
    max(CASE WHEN name = 'cleanup.policy' THEN value END) AS cleanup_policy,
    max(CASE WHEN name = 'retention.ms' THEN CAST(value AS BIGINT) END) AS retention_ms,
    max(CASE WHEN name = 'retention.bytes' THEN CAST(value AS BIGINT) END) AS retention_bytes,
    max(CASE WHEN name = 'segment.ms' THEN CAST(value AS BIGINT) END) AS segment_ms
  FROM configs_published
  WHERE resource_type = 'topic'
    AND name IN ('cleanup.policy', 'retention.ms', 'retention.bytes', 'segment.ms')
  GROUP BY cluster, snapshot_id, snapshot_date, resource_name
),
sizes AS (
  SELECT
    replicas.cluster,
    replicas.snapshot_id,
    replicas.snapshot_date,
    replicas.topic,
    replicas.partition,
    max(replicas.size_bytes) AS size_bytes,
    -- The local disk of a tiered topic has its last offsets only.
    max(ends.high_watermark - coalesce(ends.local_log_start_offset, ends.log_start_offset)) AS offsets_on_disk
  FROM log_dirs_published AS replicas
  JOIN partitions AS led
    ON led.cluster = replicas.cluster
    AND led.snapshot_id = replicas.snapshot_id
    AND led.snapshot_date = replicas.snapshot_date
    AND led.topic = replicas.topic
    AND led.partition = replicas.partition
    AND led.leader_id = replicas.broker_id
  LEFT JOIN partition_offsets AS ends
    ON ends.cluster = replicas.cluster
    AND ends.snapshot_id = replicas.snapshot_id
    AND ends.snapshot_date = replicas.snapshot_date
    AND ends.topic = replicas.topic
    AND ends.partition = replicas.partition
  WHERE NOT replicas.is_future
  GROUP BY replicas.cluster, replicas.snapshot_id, replicas.snapshot_date, replicas.topic, replicas.partition
),
joined AS (
  SELECT
    lags.*,
    limits.cleanup_policy,
    limits.retention_ms,
    limits.retention_bytes,
    limits.segment_ms,
    limits.cleanup_policy LIKE '%delete%' AS is_deleted,
    rates.history_from,
    rates.produce_rate,
    rates.delete_rate,
    sizes.size_bytes * 1.0E0
      / nullif(coalesce(sizes.offsets_on_disk, lags.high_watermark - lags.log_start_offset), 0) AS record_bytes,
    -- After the last record there may be markers of transactions only, also where the records before them are lost.
    least(lags.lag, lags.high_watermark - lags.log_start_offset) > 0
      AND lags.time_lag_method IS DISTINCT FROM 'caught_up'
      AND NOT coalesce(
        lags.time_lag_method = 'below_log_start' AND lags.time_lag_ms = 0 AND lags.first_unread_timestamp IS NULL, FALSE
      ) AS has_unread,
    -- Records that were lost before the group read them take no room in the log.
    least(lags.lag, lags.high_watermark - lags.log_start_offset) AS unread,
    unix_millis(lags.captured_at) AS captured_ms,
    unix_millis(lags.first_unread_timestamp) AS first_unread_ms,
    -- A timestamp far out of range would give a time that no engine can represent.
    unix_millis(lags.first_unread_timestamp) BETWEEN 0 AND 100000000000000
      AND limits.retention_ms BETWEEN 0 AND 10000000000000 AS has_expiry
  FROM consumer_lag_published AS lags
  LEFT JOIN limits
    ON limits.cluster = lags.cluster
    AND limits.snapshot_id = lags.snapshot_id
    AND limits.snapshot_date = lags.snapshot_date
    AND limits.topic = lags.topic
  LEFT JOIN rates
    ON rates.cluster = lags.cluster
    AND rates.snapshot_id = lags.snapshot_id
    AND rates.snapshot_date = lags.snapshot_date
    AND rates.topic = lags.topic
    AND rates.partition = lags.partition
  LEFT JOIN sizes
    ON sizes.cluster = lags.cluster
    AND sizes.snapshot_id = lags.snapshot_id
    AND sizes.snapshot_date = lags.snapshot_date
    AND sizes.topic = lags.topic
    AND sizes.partition = lags.partition
  WHERE lags.lag IS NOT NULL AND lags.lag_basis = 'committed'
),
estimated AS (
  SELECT
    joined.*,
    CASE WHEN has_unread AND is_deleted AND has_expiry THEN first_unread_ms + retention_ms END AS expires_ms,
    CASE
      WHEN has_unread AND is_deleted AND retention_bytes >= 0 AND record_bytes > 0 THEN
        CASE
          WHEN unread * record_bytes >= retention_bytes THEN captured_ms
          WHEN produce_rate > 0
            THEN captured_ms + CAST(
              floor(least((retention_bytes - unread * record_bytes) / (produce_rate * record_bytes), 1.0E10) * 1000)
              AS BIGINT)
        END
    END AS size_ms,
    CASE
      WHEN has_unread AND delete_rate > 0
        THEN captured_ms + CAST(floor(least(greatest(retention_margin, 0) / delete_rate, 1.0E10) * 1000) AS BIGINT)
    END AS log_start_ms
  FROM joined
),
decided AS (
  SELECT
    estimated.*,
    coalesce(least(coalesce(expires_ms, size_ms), coalesce(size_ms, expires_ms)), log_start_ms) AS loss_ms,
    CASE
      WHEN expires_ms <= coalesce(size_ms, expires_ms) THEN 'retention_ms'
      WHEN size_ms IS NOT NULL THEN 'retention_bytes'
      WHEN log_start_ms IS NOT NULL THEN 'log_start_history'
    END AS evidence
  FROM estimated
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  group_id,
  topic,
  topic_id,
  partition,
  committed_offset,
  log_start_offset,
  lag,
  records_lost,
  retention_margin,
  first_unread_timestamp,
  time_lag_method,
  cleanup_policy,
  retention_ms,
  retention_bytes,
  segment_ms,
  timestamp_millis(expires_ms) AS expires_at,
  CASE WHEN segment_ms IS NOT NULL THEN timestamp_millis(expires_ms + least(segment_ms, 10000000000000)) END
    AS expires_at_latest,
  timestamp_millis(size_ms) AS size_reached_at,
  timestamp_millis(log_start_ms) AS log_start_reached_at,
  history_from,
  timestamp_millis(loss_ms) AS loss_at,
  (loss_ms - captured_ms) / 1000.0E0 AS seconds_left,
  evidence,
  CASE
    WHEN loss_ms IS NOT NULL THEN NULL
    WHEN NOT has_unread THEN 'nothing_unread'
    WHEN cleanup_policy IS NULL THEN 'configs_unknown'
    WHEN NOT is_deleted THEN 'compacted'
    -- Many write the greatest number for no limit.
    WHEN retention_ms NOT BETWEEN 0 AND 10000000000000 AND retention_bytes = -1 THEN 'not_deleted'
    ELSE 'not_measured'
  END AS no_estimate_because
FROM decided

CREATE OR REPLACE VIEW lag_trend (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself; null if no broker named it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at; filter by it to read the files of these days and the days before them alone.',
  captured_at COMMENT 'When that snapshot began to look at the cluster.',
  group_id COMMENT 'group.id; any text, so escape it where it is shown.',
  group_type COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers cannot say.',
  group_state COMMENT 'State of the group as Kafka spells it; null if unknown.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers give none.',
  partition COMMENT 'Partition number.',
  committed_offset COMMENT 'Next offset that the group will read; null if it has no commit, or unknown.',
  high_watermark COMMENT 'End for readers; null if unknown.',
  lag COMMENT 'high_watermark - committed_offset, raw; null if either is unknown.',
  previous_snapshot_id COMMENT 'The snapshot that this one is compared with: the last one before it, on the same or the preceding UTC day, that knows both offsets. Null if no_rate_because is snapshot_is_first or lag_is_unknown.',
  previous_captured_at COMMENT 'When that snapshot began; null if there is none.',
  seconds COMMENT 'Seconds from previous_captured_at to captured_at; null if there is none.',
  previous_lag COMMENT 'Lag in that snapshot; null if there is none.',
  produced COMMENT 'How far the end has moved since, in offsets; negative if the log was truncated. Null if there is nothing to compare with, or the topic was re-created.',
  consumed COMMENT 'How far the commit has moved since, in offsets; negative if it was moved back. Null as produced.',
  lag_change COMMENT 'produced - consumed; null as produced.',
  produce_rate COMMENT 'Offsets produced per second; null if no_rate_because is set, unless that is commit_moved_back.',
  consume_rate COMMENT 'Offsets consumed per second; null if no_rate_because is set, unless that is end_moved_back.',
  lag_velocity COMMENT 'lag_change per second, negative while the group catches up; null as produced.',
  seconds_to_catch_up COMMENT 'lag divided by -lag_velocity: how long it takes if both rates stay as they are, 0 if there is no lag. Null if no_catch_up_because is set.',
  no_rate_because COMMENT 'Why a rate is null: lag_is_unknown (an offset of this snapshot is not known), snapshot_is_first (none to compare with), topic_was_recreated, end_moved_back, commit_moved_back. Null if there are rates.',
  no_catch_up_because COMMENT 'Why seconds_to_catch_up is null: no_rate_because, or lag_does_not_shrink. Null if it is given.'
)
COMMENT 'How fast each group and partition is produced to and consumed, and when the group will have caught up: each published snapshot against the one before, one row per group, partition and snapshot. Times are those at which the snapshots began.'
AS
WITH compared AS (
  SELECT
    consumer_lag_published.*,
    lag(snapshot_id) OVER earlier AS previous_snapshot_id,
    lag(captured_at) OVER earlier AS previous_captured_at,
    lag(topic_id) OVER earlier AS previous_topic_id,
    lag(lag) OVER earlier AS previous_lag,
    high_watermark - lag(high_watermark) OVER earlier AS end_change,
    committed_offset - lag(committed_offset) OVER earlier AS commit_change
  FROM consumer_lag_published
  -- Rows without lag are a partition of the window of their own, so that the others are compared past them.
  WINDOW earlier AS (
    PARTITION BY cluster, group_id, topic, partition, lag IS NULL
    ORDER BY captured_at, snapshot_id
  )
),
judged AS (
  SELECT
    compared.*,
    CASE
      WHEN lag IS NULL THEN 'lag_is_unknown'
      WHEN previous_snapshot_id IS NULL THEN 'snapshot_is_first'
      WHEN topic_id <> previous_topic_id THEN 'topic_was_recreated'
      WHEN end_change < 0 THEN 'end_moved_back'
      WHEN commit_change < 0 THEN 'commit_moved_back'
    END AS no_rate_because,
    lag IS NOT NULL AND topic_id IS NOT DISTINCT FROM previous_topic_id AS is_comparable,
    (unix_millis(captured_at) - unix_millis(previous_captured_at)) / 1000.0E0 AS elapsed
  FROM compared
),
measured AS (
  SELECT
    judged.*,
    CASE WHEN is_comparable THEN end_change END AS produced,
    CASE WHEN is_comparable THEN commit_change END AS consumed,
    CASE WHEN is_comparable THEN end_change - commit_change END AS lag_change,
    CASE WHEN is_comparable THEN (end_change - commit_change) / nullif(elapsed, 0) END AS lag_velocity
  FROM judged
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  group_id,
  group_type,
  group_state,
  topic,
  topic_id,
  partition,
  committed_offset,
  high_watermark,
  lag,
  CASE WHEN lag IS NOT NULL THEN previous_snapshot_id END AS previous_snapshot_id,
  CASE WHEN lag IS NOT NULL THEN previous_captured_at END AS previous_captured_at,
  CASE WHEN lag IS NOT NULL THEN elapsed END AS seconds,
  CASE WHEN lag IS NOT NULL THEN previous_lag END AS previous_lag,
  produced,
  consumed,
  lag_change,
  CASE WHEN produced >= 0 THEN produced / nullif(elapsed, 0) END AS produce_rate,
  CASE WHEN consumed >= 0 THEN consumed / nullif(elapsed, 0) END AS consume_rate,
  lag_velocity,
  CASE
    WHEN lag <= 0 THEN 0.0E0
    WHEN no_rate_because IS NULL AND lag_velocity < 0 THEN lag / -lag_velocity
  END AS seconds_to_catch_up,
  no_rate_because,
  CASE
    WHEN lag <= 0 THEN NULL
    WHEN no_rate_because IS NOT NULL THEN no_rate_because
    WHEN lag_velocity < 0 THEN NULL
    ELSE 'lag_does_not_shrink'
  END AS no_catch_up_because
FROM measured

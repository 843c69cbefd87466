CREATE OR REPLACE VIEW lag_trend (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  group_type COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers do not return it.',
  group_state COMMENT 'State of the group as Kafka spells it; null if unknown.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  committed_offset COMMENT 'Next offset that the group will read; null if it has no commit, or unknown.',
  high_watermark COMMENT 'End for readers; null if unknown.',
  lag COMMENT 'As in table consumer_lag; null if unknown.',
  previous_snapshot_id COMMENT 'The previous published snapshot of the cluster; null if there is none.',
  previous_captured_at COMMENT 'When that snapshot began; null if there is none.',
  seconds COMMENT 'Seconds from previous_captured_at to captured_at, more than usual if snapshots are missing; null if there is no previous snapshot.',
  previous_lag COMMENT 'Lag in that snapshot; null if it was unknown, or there is no such snapshot.',
  produced COMMENT 'How far the end offset has moved since then; negative if the log was truncated. Null if no_change_because is set, or an end is unknown (share groups).',
  consumed COMMENT 'How far the commit has moved since then, in offsets; negative if it was moved back. Null if no_change_because is set, or the group does not commit (share groups).',
  lag_change COMMENT 'lag - previous_lag, cut to 2^63-1 and -(2^63-1); null if no_change_because is set.',
  produce_rate COMMENT 'Offsets produced per second; null if produced is null or negative, or seconds is 0.',
  consume_rate COMMENT 'Offsets consumed per second; null if consumed is null or negative, or seconds is 0.',
  lag_velocity COMMENT 'lag_change per second, negative while the group catches up; null if lag_change is null, or seconds is 0.',
  seconds_to_catch_up COMMENT 'lag divided by -lag_velocity: the time to catch up if both rates stay the same; 0 without lag. Null if no_estimate_because is set.',
  no_change_because COMMENT 'Why there is nothing to compare with: lag_unknown (now), first_snapshot (no earlier snapshot), previous_lag_unknown (or no row then) or topic_recreated (another topic id, or none in one of the two). Otherwise null.',
  no_estimate_because COMMENT 'Why seconds_to_catch_up is null: a value of no_change_because, end_moved_back, commit_moved_back, lag_not_shrinking, or no_time_passed (seconds is 0). Otherwise null.'
)
COMMENT 'How fast each partition is produced to and consumed by each group, and when the group will have caught up: compared with the previous published snapshot, one row per group, partition and snapshot. Times are those at which the snapshots began.'
AS
WITH compared AS (
  SELECT
    this.*,
    pair.previous_snapshot_id,
    pair.previous_captured_at,
    pair.seconds,
    earlier.lag AS previous_lag,
    -- One commit of 2^63-1, which a client may make, is further from others than a BIGINT can say.
    CAST(this.lag AS DECIMAL(20, 0)) - CAST(earlier.lag AS DECIMAL(20, 0)) AS exact_change,
    this.high_watermark - earlier.high_watermark AS end_change,
    this.committed_offset - earlier.committed_offset AS commit_change,
    CASE
      WHEN this.lag IS NULL THEN 'lag_unknown'
      WHEN pair.previous_snapshot_id IS NULL THEN 'first_snapshot'
      WHEN earlier.lag IS NULL THEN 'previous_lag_unknown'
      WHEN this.topic_id IS DISTINCT FROM earlier.topic_id THEN 'topic_recreated'
    END AS no_change_because
  FROM consumer_lag AS this
  JOIN consecutive_snapshots AS pair
    ON this.cluster = pair.cluster
    AND this.snapshot_id = pair.snapshot_id
    AND this.snapshot_date = pair.snapshot_date
  LEFT JOIN consumer_lag AS earlier
    ON earlier.cluster = pair.cluster
    AND earlier.snapshot_id = pair.previous_snapshot_id
    AND earlier.snapshot_date = pair.previous_snapshot_date
    AND earlier.group_id = this.group_id
    AND earlier.topic = this.topic
    AND earlier.partition = this.partition
),
measured AS (
  SELECT
    compared.*,
    CASE WHEN no_change_because IS NULL THEN end_change END AS produced,
    CASE WHEN no_change_because IS NULL THEN commit_change END AS consumed,
    CASE
      WHEN no_change_because IS NOT NULL THEN NULL
      WHEN exact_change < -9223372036854775807 THEN -9223372036854775807
      WHEN exact_change > 9223372036854775807 THEN 9223372036854775807
      ELSE CAST(exact_change AS BIGINT)
    END AS lag_change,
    CASE
      WHEN no_change_because IS NOT NULL THEN no_change_because
      WHEN end_change < 0 THEN 'end_moved_back'
      WHEN commit_change < 0 THEN 'commit_moved_back'
      WHEN lag >= previous_lag THEN 'lag_not_shrinking'
      WHEN seconds = 0 THEN 'no_time_passed'
    END AS no_pace_because
  FROM compared
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
  previous_snapshot_id,
  previous_captured_at,
  seconds,
  previous_lag,
  produced,
  consumed,
  lag_change,
  CASE WHEN produced >= 0 THEN produced / nullif(seconds, 0) END AS produce_rate,
  CASE WHEN consumed >= 0 THEN consumed / nullif(seconds, 0) END AS consume_rate,
  lag_change / nullif(seconds, 0) AS lag_velocity,
  CASE
    WHEN lag <= 0 THEN 0.0E0
    WHEN no_pace_because IS NULL THEN lag * seconds / -lag_change
  END AS seconds_to_catch_up,
  no_change_because,
  CASE WHEN lag <= 0 THEN NULL ELSE no_pace_because END AS no_estimate_because
FROM measured

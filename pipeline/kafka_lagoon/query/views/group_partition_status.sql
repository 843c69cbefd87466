CREATE OR REPLACE VIEW group_partition_status (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at; filter by it, and only these days and the nine snapshots before them are read.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  group_state COMMENT 'State of the group as Kafka spells it; null if unknown.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  status COMMENT 'OK, WARN (the group reads, but lag never shrank in the window), STOP (no member owns the partition, and the commit has been unchanged for longer than it was moving in the window), STALL (the commit did not move in the window) or REWIND (the commit is below an earlier commit of the window). Neither STALL nor WARN where lag was 0 in a snapshot of the window; no STOP while a classic group rebalances, or where all had been read up to the snapshot before. Null if no_status_because is set.',
  lag COMMENT 'As in table consumer_lag; null if unknown.',
  committed_offset COMMENT 'Next offset that the group will read; null if it has no commit, or unknown.',
  member_id COMMENT 'Member that owns the partition; null if there is none, or if it is unknown.',
  commit_unmoved_since COMMENT 'When the first snapshot of the window began since which the commit has not moved; null if the commit or the lag is unknown.',
  window_from COMMENT 'When the first snapshot of the window with a known lag and commit began; null if they are unknown in this snapshot.',
  window_snapshots COMMENT 'Snapshots of the window with a known lag and commit of this topic id; 0 if they are unknown in this snapshot.',
  no_status_because COMMENT 'lag_unknown (now, also without a commit), no_commit (share groups have lag without a commit) or too_few_snapshots (fewer than three in the window). Null if there is a status.'
)
COMMENT 'Status of each group on each partition by the rules of Burrow, over a published snapshot and the nine before it: one row per group, partition and snapshot. Burrow sees every commit, a snapshot only the last: a repeated commit looks like no commit, so STOP and STALL differ by whether a member owns the partition.'
AS
WITH in_order AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    row_number() OVER (PARTITION BY cluster, cluster_id ORDER BY captured_at, snapshot_id) AS number
  FROM snapshots
),
days AS (
  SELECT cluster, cluster_id, snapshot_date, min(number) AS first_number
  FROM in_order
  GROUP BY cluster, cluster_id, snapshot_date
),
-- Each day with the nine snapshots before it, so that a filter on the day is also a filter on the tables.
needed AS (
  SELECT
    in_order.*,
    days.snapshot_date AS day
  FROM days
  JOIN in_order
    ON in_order.cluster = days.cluster
    AND in_order.cluster_id IS NOT DISTINCT FROM days.cluster_id
    AND in_order.snapshot_date <= days.snapshot_date
    AND in_order.number >= days.first_number - 9
),
seen AS (
  SELECT
    consumer_lag.*,
    needed.day,
    needed.number,
    consumer_lag.lag IS NOT NULL AND consumer_lag.committed_offset IS NOT NULL AS is_known
  FROM needed
  JOIN consumer_lag
    ON consumer_lag.cluster = needed.cluster
    AND consumer_lag.snapshot_id = needed.snapshot_id
    AND consumer_lag.snapshot_date = needed.snapshot_date
),
compared AS (
  SELECT
    seen.*,
    CASE WHEN committed_offset <> lag(committed_offset) OVER series THEN captured_at END AS moved_at,
    CASE WHEN lag < lag(lag) OVER series THEN 1 ELSE 0 END AS shrank,
    CASE WHEN number - 1 = lag(number) OVER series THEN lag(high_watermark) OVER series END AS previous_end
  FROM seen
  -- Unknown values are a series of their own, so that a known value is compared with the known value before it.
  WINDOW series AS (
    PARTITION BY cluster, cluster_id, day, group_id, topic, topic_id, partition, is_known ORDER BY number
  )
),
measured AS (
  SELECT
    compared.*,
    min(captured_at) OVER recent AS window_from,
    count(*) OVER recent AS known_snapshots,
    max(committed_offset) OVER recent AS highest_commit,
    min(committed_offset) OVER recent AS lowest_commit,
    min(lag) OVER recent AS least_lag,
    -- The first row of the window was compared with a row before the window, which does not count.
    sum(shrank) OVER recent - first_value(shrank) OVER recent AS times_lag_shrank,
    max(moved_at) OVER recent AS last_moved_at
  FROM compared
  WINDOW recent AS (
    PARTITION BY cluster, cluster_id, day, group_id, topic, topic_id, partition, is_known
    ORDER BY number
    RANGE BETWEEN 9 PRECEDING AND CURRENT ROW
  )
),
judged AS (
  SELECT
    measured.*,
    coalesce(last_moved_at, window_from) AS unmoved_since,
    member_id IS NULL AND problem IS NULL AND coalesce(group_state, 'Empty') IN ('Empty', 'Dead', 'Stable') AS is_unowned,
    CASE
      WHEN lag IS NULL THEN 'lag_unknown'
      WHEN NOT is_known THEN 'no_commit'
      WHEN known_snapshots < 3 THEN 'too_few_snapshots'
    END AS no_status_because
  FROM measured
  WHERE day = snapshot_date
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  day AS snapshot_date,
  captured_at,
  group_id,
  group_state,
  topic,
  topic_id,
  partition,
  CASE
    WHEN no_status_because IS NOT NULL THEN NULL
    WHEN lag <= 0 THEN 'OK'
    -- Burrow waits while the newest end offsets that it keeps (some minutes) show that everything had been read.
    WHEN is_unowned
      AND unix_millis(captured_at) - unix_millis(unmoved_since)
        > unix_millis(unmoved_since) - unix_millis(window_from)
      AND NOT coalesce(previous_end <= committed_offset, false) THEN 'STOP'
    WHEN committed_offset < highest_commit THEN 'REWIND'
    WHEN least_lag <= 0 THEN 'OK'
    WHEN lowest_commit = highest_commit THEN 'STALL'
    WHEN times_lag_shrank = 0 THEN 'WARN'
    ELSE 'OK'
  END AS status,
  lag,
  committed_offset,
  member_id,
  CASE WHEN is_known THEN unmoved_since END AS commit_unmoved_since,
  CASE WHEN is_known THEN window_from END AS window_from,
  CASE WHEN is_known THEN known_snapshots ELSE 0 END AS window_snapshots,
  no_status_because
FROM judged

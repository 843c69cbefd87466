CREATE OR REPLACE VIEW group_partition_status (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself; null if no broker named it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When that snapshot began to look at the cluster.',
  group_id COMMENT 'group.id; any text, so escape it where it is shown.',
  group_state COMMENT 'State of the group as Kafka spells it; null if unknown.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers give none.',
  partition COMMENT 'Partition number.',
  status COMMENT 'OK, WARN (reads, but lag did not shrink anywhere in the window), STOP (no member owns the partition, and the commit has not moved for longer than it moved before in the window), STALL (the commit did not move in the window) or REWIND (the commit moved back and is not where it was). Null if no_status_because is set.',
  lag COMMENT 'As in table consumer_lag; null if unknown.',
  committed_offset COMMENT 'Next offset that the group will read; null if it has no commit, or unknown.',
  member_id COMMENT 'Member that owns the partition; null if none does, or that is not known.',
  commit_unmoved_since COMMENT 'When the first snapshot began that shows this commit, or the first of the window; null if the commit or lag is unknown.',
  window_from COMMENT 'When the first snapshot of the window began that knows lag and commit; null if none does.',
  window_snapshots COMMENT 'Snapshots of the window that know lag and commit, of this topic id.',
  no_status_because COMMENT 'lag_unknown (now, also without a commit), no_commit (share groups have lag without one) or too_few_snapshots (fewer than three in the window). Null if status is given.'
)
COMMENT 'Whether each group gets on with each partition, by the rules of Burrow, in the window of a published snapshot and the nine before it: one row per group, partition and snapshot. Burrow sees every commit, a snapshot only the last one: a commit that was repeated looks like none, so members tell STALL from STOP.'
AS
WITH in_order AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    row_number() OVER (PARTITION BY cluster ORDER BY captured_at, snapshot_id) AS number
  FROM snapshots
),
windows AS (
  SELECT
    this.cluster,
    this.cluster_id,
    this.snapshot_id,
    this.snapshot_date,
    this.captured_at,
    earlier.snapshot_id AS seen_id,
    earlier.snapshot_date AS seen_date,
    earlier.captured_at AS seen_at,
    ago.steps
  FROM in_order AS this
  CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS ago (steps)
  JOIN in_order AS earlier
    ON earlier.cluster = this.cluster
    AND earlier.number = this.number - ago.steps
),
seen AS (
  SELECT
    windows.*,
    consumer_lag.group_id,
    consumer_lag.topic,
    consumer_lag.topic_id,
    consumer_lag.partition,
    consumer_lag.committed_offset,
    consumer_lag.high_watermark,
    consumer_lag.lag,
    consumer_lag.member_id,
    consumer_lag.group_state,
    consumer_lag.problem,
    consumer_lag.lag IS NOT NULL AND consumer_lag.committed_offset IS NOT NULL AS is_known
  FROM windows
  JOIN consumer_lag
    ON consumer_lag.cluster = windows.cluster
    AND consumer_lag.snapshot_id = windows.seen_id
    AND consumer_lag.snapshot_date = windows.seen_date
),
compared AS (
  SELECT
    seen.*,
    lag(committed_offset) OVER series AS previous_commit,
    lag(lag) OVER series AS previous_lag,
    max(committed_offset) OVER series AS highest
  FROM seen
  -- What is not known stands in a series of its own, so the others are compared past it. All columns of the snapshot are keys, so
  -- that a filter on any of them limits what is read.
  WINDOW series AS (
    PARTITION BY
      cluster, cluster_id, snapshot_id, snapshot_date, captured_at, group_id, topic, topic_id, partition, is_known
    ORDER BY steps DESC
  )
),
summed AS (
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
    max(CASE WHEN steps = 0 THEN group_state END) AS group_state,
    max(CASE WHEN steps = 0 THEN lag END) AS lag,
    max(CASE WHEN steps = 0 THEN committed_offset END) AS committed_offset,
    max(CASE WHEN steps = 0 THEN member_id END) AS member_id,
    max(CASE WHEN steps = 0 THEN problem END) AS problem,
    max(CASE WHEN steps = 1 THEN high_watermark END) AS previous_end,
    min(CASE WHEN is_known THEN seen_at END) AS window_from,
    count(CASE WHEN is_known THEN 1 END) AS window_snapshots,
    min(CASE WHEN is_known THEN lag END) AS least_lag,
    count(CASE WHEN is_known AND lag < previous_lag THEN 1 END) AS times_lag_shrank,
    max(CASE WHEN is_known AND committed_offset <> previous_commit THEN seen_at END) AS moved_at,
    max(CASE WHEN is_known AND committed_offset < highest THEN steps END) AS rewound,
    min(CASE WHEN is_known AND committed_offset = highest THEN steps END) AS recovered
  FROM compared
  GROUP BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, group_id, topic, topic_id, partition
  HAVING min(steps) = 0
),
judged AS (
  SELECT
    summed.*,
    coalesce(moved_at, window_from) AS unmoved_since,
    member_id IS NULL AND problem IS NULL AND coalesce(group_state, 'Empty') IN ('Empty', 'Dead', 'Stable') AS is_unowned,
    CASE
      WHEN lag IS NULL THEN 'lag_unknown'
      WHEN committed_offset IS NULL THEN 'no_commit'
      WHEN window_snapshots < 3 THEN 'too_few_snapshots'
    END AS no_status_because
  FROM summed
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  group_id,
  group_state,
  topic,
  topic_id,
  partition,
  CASE
    WHEN no_status_because IS NOT NULL THEN NULL
    WHEN lag <= 0 THEN 'OK'
    -- Burrow waits as long as its newest ends of the log (some minutes) still show that all had been read.
    WHEN is_unowned
      AND unix_millis(captured_at) - unix_millis(unmoved_since)
        > unix_millis(unmoved_since) - unix_millis(window_from)
      AND NOT coalesce(previous_end <= committed_offset, false) THEN 'STOP'
    WHEN recovered > rewound THEN 'REWIND'
    WHEN least_lag <= 0 THEN 'OK'
    WHEN moved_at IS NULL THEN 'STALL'
    WHEN times_lag_shrank = 0 THEN 'WARN'
    ELSE 'OK'
  END AS status,
  lag,
  committed_offset,
  member_id,
  CASE WHEN lag IS NOT NULL AND committed_offset IS NOT NULL THEN unmoved_since END AS commit_unmoved_since,
  window_from,
  window_snapshots,
  no_status_because
FROM judged

CREATE OR REPLACE VIEW unstored_snapshots (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'A published snapshot.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When it began to read the cluster.',
  previous_snapshot_id COMMENT 'The previous snapshot, see consecutive_snapshots; null if there is none.',
  previous_snapshot_date COMMENT 'UTC day of the previous snapshot; null if there is none.'
)
COMMENT 'Published snapshots, each with the one before it, of the UTC days whose throughput is not in table stored_throughput, or not as the published snapshots are now.'
AS
SELECT
  consecutive_snapshots.cluster,
  consecutive_snapshots.cluster_id,
  consecutive_snapshots.snapshot_id,
  consecutive_snapshots.snapshot_date,
  consecutive_snapshots.captured_at,
  consecutive_snapshots.previous_snapshot_id,
  consecutive_snapshots.previous_snapshot_date
FROM consecutive_snapshots
JOIN (
  SELECT days.cluster, days.cluster_id, days.snapshot_date
  FROM throughput_days AS days
  LEFT JOIN stored_throughput AS stored
    ON days.cluster = stored.cluster
    AND days.cluster_id IS NOT DISTINCT FROM stored.cluster_id
    AND days.snapshot_date = stored.snapshot_date
    AND days.state = stored.state
    AND stored.topic IS NULL
  WHERE stored.state IS NULL
) AS unstored
  ON consecutive_snapshots.cluster = unstored.cluster
  AND consecutive_snapshots.cluster_id IS NOT DISTINCT FROM unstored.cluster_id
  AND consecutive_snapshots.snapshot_date = unstored.snapshot_date

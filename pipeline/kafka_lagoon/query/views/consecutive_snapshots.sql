CREATE OR REPLACE VIEW consecutive_snapshots (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'A published snapshot.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When it began to read the cluster.',
  status COMMENT 'complete or partial.',
  previous_snapshot_id COMMENT 'The previous published snapshot with the same cluster and cluster_id; null if there is none, as are the columns that follow.',
  previous_snapshot_date COMMENT 'UTC day of previous_captured_at.',
  previous_captured_at COMMENT 'When the previous snapshot began.',
  previous_status COMMENT 'Status of the previous snapshot.',
  seconds COMMENT 'Seconds from previous_captured_at to captured_at.'
)
COMMENT 'Published snapshots, each with the previous published snapshot of the same cluster, by the times at which they began. Other views compare the two. A cluster with another id under the same name is another one.'
AS
WITH in_order AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    status,
    lag(snapshot_id) OVER earlier AS previous_snapshot_id,
    lag(snapshot_date) OVER earlier AS previous_snapshot_date,
    lag(captured_at) OVER earlier AS previous_captured_at,
    lag(status) OVER earlier AS previous_status
  FROM snapshots
  WINDOW earlier AS (PARTITION BY cluster, cluster_id ORDER BY captured_at, snapshot_id)
)
SELECT
  in_order.*,
  (unix_millis(captured_at) - unix_millis(previous_captured_at)) / 1000.0E0 AS seconds
FROM in_order

CREATE OR REPLACE VIEW throughput_days (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_date COMMENT 'A UTC day with published snapshots.',
  snapshots COMMENT 'Number of these snapshots.',
  previous_captured_at COMMENT 'When the earliest snapshot began that one of them is compared with; null if one is compared with none.',
  state COMMENT 'Text that changes with the snapshots that the throughput of the day follows from: rows of stored_throughput with the same text are right.'
)
COMMENT 'UTC days of each cluster, with the state of their published snapshots and of the one before them.'
AS
SELECT
  cluster,
  cluster_id,
  snapshot_date,
  count(*) AS snapshots,
  CASE WHEN count(previous_captured_at) = count(*) THEN min(previous_captured_at) END AS previous_captured_at,
  {state_of_throughput} AS state
FROM consecutive_snapshots
GROUP BY cluster, cluster_id, snapshot_date

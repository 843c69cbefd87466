CREATE OR REPLACE VIEW change_days (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_date COMMENT 'A UTC day with published snapshots.',
  snapshots COMMENT 'Number of these snapshots.',
  previous_captured_at COMMENT 'When the earliest snapshot began that one of them is compared with, in any table; null if a table of one is compared with none.',
  state COMMENT 'Text that changes with the snapshots that the changes of the day follow from: rows of stored_changes with the same text are right.'
)
COMMENT 'UTC days of each cluster, with the state of their published snapshots.'
AS
SELECT
  cluster,
  cluster_id,
  snapshot_date,
  count(DISTINCT snapshot_id) AS snapshots,
  CASE
    WHEN count(CASE WHEN problem IS NULL AND previous_captured_at IS NULL THEN 1 END) = 0 THEN min(previous_captured_at)
  END AS previous_captured_at,
  {state} AS state
FROM table_coverage
GROUP BY cluster, cluster_id, snapshot_date

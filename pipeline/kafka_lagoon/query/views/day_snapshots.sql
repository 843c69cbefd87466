CREATE OR REPLACE VIEW day_snapshots (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  table_name COMMENT 'A table of view table_coverage.',
  day COMMENT 'A UTC day.',
  snapshot_id COMMENT 'A snapshot of the day with the whole table, or the last one before the day.',
  snapshot_date COMMENT 'UTC day of the snapshot: day, or an earlier one.',
  place COMMENT 'Number of the snapshot in view table_coverage; each number of the day follows the one before it.',
  first_place COMMENT 'The smallest number of the day.',
  last_place COMMENT 'The largest number of the day.'
)
COMMENT 'The snapshots that show the changes of a UTC day in a table: those of the day, and the last one before it. Days whose changes table stored_changes has are left out.'
AS
WITH days AS (
  SELECT
    table_coverage.*,
    {state_of_rows} AS state
  FROM table_coverage
  WINDOW of_day AS (PARTITION BY cluster, cluster_id, snapshot_date)
),
listed AS (
  SELECT
    coverage.cluster,
    coverage.cluster_id,
    coverage.table_name,
    coverage.snapshot_date AS day,
    CASE sides.number WHEN 0 THEN coverage.snapshot_id ELSE coverage.previous_snapshot_id END AS snapshot_id,
    CASE sides.number WHEN 0 THEN coverage.snapshot_date ELSE coverage.previous_snapshot_date END AS snapshot_date,
    coverage.place - sides.number AS place
  FROM days AS coverage
  ANTI JOIN (SELECT cluster, cluster_id, snapshot_date, state FROM stored_changes WHERE change_type IS NULL) AS stored
    ON coverage.cluster = stored.cluster
    AND coverage.cluster_id IS NOT DISTINCT FROM stored.cluster_id
    AND coverage.snapshot_date = stored.snapshot_date
    AND coverage.state = stored.state
  CROSS JOIN (VALUES (0), (1)) AS sides (number)
  WHERE
    coverage.problem IS NULL
    AND (sides.number = 0 OR coverage.previous_snapshot_date <> coverage.snapshot_date)
)
SELECT
  listed.*,
  min(place) OVER of_day AS first_place,
  max(place) OVER of_day AS last_place
FROM listed
WINDOW of_day AS (PARTITION BY cluster, cluster_id, table_name, day)

CREATE OR REPLACE VIEW snapshots_now
COMMENT 'Table snapshots for the latest published snapshot of each cluster.'
AS
SELECT snapshots.*
FROM snapshots
JOIN (
  SELECT
    cluster,
    snapshot_id,
    row_number() OVER (PARTITION BY cluster ORDER BY captured_at DESC, snapshot_id DESC) AS recency
  FROM snapshots
) AS ranked
  ON ranked.recency = 1
  AND snapshots.cluster = ranked.cluster
  AND snapshots.snapshot_id = ranked.snapshot_id

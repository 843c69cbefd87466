CREATE OR REPLACE VIEW snapshots_now
COMMENT 'Table snapshots for the latest published snapshot of each cluster.'
AS
SELECT snapshots.*
FROM snapshots
JOIN (
  SELECT cluster, max(struct(captured_at, snapshot_id)) AS latest
  FROM snapshots
  GROUP BY cluster
) AS newest
  ON snapshots.cluster = newest.cluster AND snapshots.snapshot_id = newest.latest.snapshot_id

CREATE OR REPLACE VIEW lag_now
COMMENT 'Table consumer_lag for the latest published snapshot of each cluster.'
AS
SELECT consumer_lag.*
FROM consumer_lag
JOIN snapshots_now
  ON consumer_lag.cluster = snapshots_now.cluster
  AND consumer_lag.snapshot_id = snapshots_now.snapshot_id
  AND consumer_lag.snapshot_date = snapshots_now.snapshot_date

CREATE OR REPLACE VIEW {table}_published
COMMENT 'Table {table} with slot and status of the snapshot: published snapshots only.'
AS
SELECT {table}.*, snapshots.slot, snapshots.status
FROM {table}
JOIN snapshots
  ON {table}.cluster = snapshots.cluster
  AND {table}.snapshot_id = snapshots.snapshot_id
  AND {table}.snapshot_date = snapshots.snapshot_date

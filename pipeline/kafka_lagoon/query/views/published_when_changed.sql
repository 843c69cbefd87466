CREATE OR REPLACE VIEW {table}_published
COMMENT 'Table {table} with slot and status of the snapshot: published snapshots only. Unchanged rows are stored once a day, and shown here for each snapshot.'
AS
SELECT
  places.snapshot_id,
  {table}.cluster,
  places.cluster_id,
  places.captured_at,
  {columns},
  {table}.snapshot_date,
  places.slot,
  places.status
FROM {table}
JOIN (
  SELECT
    snapshots.snapshot_id,
    snapshots.cluster,
    snapshots.cluster_id,
    snapshots.captured_at,
    snapshots.snapshot_date,
    snapshots.slot,
    snapshots.status,
    coalesce(table_states.stored_in, snapshots.snapshot_id) AS stored_in
  FROM snapshots
  LEFT JOIN table_states
    ON table_states.table_name = '{table}'
    AND snapshots.cluster = table_states.cluster
    AND snapshots.snapshot_id = table_states.snapshot_id
    AND snapshots.snapshot_date = table_states.snapshot_date
) AS places
  ON {table}.cluster = places.cluster
  AND {table}.snapshot_id = places.stored_in
  AND {table}.snapshot_date = places.snapshot_date

CREATE OR REPLACE VIEW table_states (
  snapshot_id COMMENT 'The published snapshot.',
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  captured_at COMMENT 'When the run began to read the cluster.',
  table_name COMMENT 'Name of the table.',
  outcome COMMENT 'complete; partial: requests for it failed, and it has rows, or only some brokers offer it; failed: requests for it failed, and it has no rows; skipped: by the setting snapshot.skip_tables; not_offered: no broker offers it, or it is switched off.',
  row_count COMMENT 'Rows of the table in this snapshot.',
  stored_in COMMENT 'snapshot_id under which the rows are stored: this snapshot, or an earlier snapshot of the same UTC day with the same rows. Views NAME_published show them for each snapshot.',
  digest COMMENT 'Digest of the rows; null for tables that every snapshot writes, and for incomplete tables.',
  slot COMMENT 'Time of the scheduler for the run.',
  status COMMENT 'Status of the snapshot: complete or partial.',
  snapshot_date COMMENT 'UTC day of captured_at; the tables are partitioned by it.'
)
COMMENT 'How each table of each published snapshot was collected, and where its rows are stored; snapshots of version 0.1.0 have no rows here.'
AS
WITH listed AS (
  SELECT
    snapshots.snapshot_id,
    snapshots.cluster,
    snapshots.cluster_id,
    snapshots.captured_at,
    explode(snapshots.tables) AS state,
    snapshots.slot,
    snapshots.status,
    snapshots.snapshot_date
  FROM snapshots
)
SELECT
  listed.snapshot_id,
  listed.cluster,
  listed.cluster_id,
  listed.captured_at,
  listed.state.table_name,
  listed.state.outcome,
  listed.state.row_count,
  listed.state.stored_in,
  listed.state.digest,
  listed.slot,
  listed.status,
  listed.snapshot_date
FROM listed

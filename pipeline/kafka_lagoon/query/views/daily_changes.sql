CREATE OR REPLACE VIEW daily_changes (
{columns_of_changes}
)
COMMENT 'Changes by UTC day: stored ones where table stored_changes has those of the snapshots that are published now, and computed ones of other days. View topology_changes adds what shows only when permissions change.'
AS
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  previous_snapshot_id,
  previous_captured_at,
  change_type,
  entity_type,
  entity,
  attribute,
  old_value,
  new_value,
  source,
  topic,
  partition,
  group_id,
  broker_id,
  is_proven
FROM computed_changes
UNION ALL
SELECT
  stored.cluster,
  stored.cluster_id,
  stored.snapshot_id,
  stored.snapshot_date,
  stored.captured_at,
  stored.previous_snapshot_id,
  stored.previous_captured_at,
  stored.change_type,
  stored.entity_type,
  stored.entity,
  stored.attribute,
  stored.old_value,
  stored.new_value,
  stored.source,
  stored.topic,
  stored.partition,
  stored.group_id,
  stored.broker_id,
  stored.is_proven
FROM stored_changes AS stored
JOIN change_days AS days
  ON stored.cluster = days.cluster
  AND stored.cluster_id IS NOT DISTINCT FROM days.cluster_id
  AND stored.snapshot_date = days.snapshot_date
  AND stored.state = days.state
WHERE stored.change_type IS NOT NULL

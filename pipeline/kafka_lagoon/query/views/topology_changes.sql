CREATE OR REPLACE VIEW topology_changes (
{columns_of_changes}
)
COMMENT 'Changes between two published snapshots of a cluster, one row per change. An entity that appears or disappears is a single row, without its parts. The changes of a table that is incomplete in a snapshot show in the next snapshot with the whole table. Of single items that a snapshot does not know, such as the configs of a broker that did not answer, only ends and starts of logs are compared with an earlier snapshot: one of the same UTC day, or the last one before that day.'
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
FROM daily_changes
UNION ALL
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  previous_snapshot_id,
  previous_captured_at,
  CASE WHEN NOT was_there THEN 'added' WHEN NOT is_there THEN 'removed' ELSE 'recreated' END,
  CASE table_name WHEN 'topics' THEN 'topic' ELSE 'group' END,
  name,
  NULL,
  old_id,
  new_id,
  NULL,
  CASE table_name WHEN 'topics' THEN name END,
  NULL,
  CASE table_name WHEN 'consumer_groups' THEN name END,
  NULL,
  coalesce(visibility = 'complete', FALSE)
FROM late_list_changes

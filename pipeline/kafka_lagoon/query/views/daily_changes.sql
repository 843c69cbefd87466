CREATE OR REPLACE VIEW daily_changes (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that shows the change first.',
  snapshot_date COMMENT 'UTC day of captured_at; filter by it, and only these days and the snapshot before them are read.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  previous_snapshot_id COMMENT 'The snapshot that it is compared with: the latest earlier snapshot with the whole table (table_coverage), or the latest whose list has the same visibility (late_list_changes).',
  previous_captured_at COMMENT 'When that snapshot began: the change was made between the two.',
  change_type COMMENT 'added, removed, changed, recreated (a topic under its old name), moved_back (a commit, or the start of a log) or truncated (the end of a log went down).',
  entity_type COMMENT 'Type of the changed entity: cluster, broker, voter, log_dir, topic, partition, reassignment, config, feature, quota, scram_user, delegation_token, acl, group, member or group_partition (ownership and commit of a partition by a group).',
  entity COMMENT 'The broker, topic-partition, group, member or ACL, for people.',
  attribute COMMENT 'The attribute that changed: the name of its column, config or quota, or the mechanism of a SCRAM user; null for the entity as a whole.',
  old_value COMMENT 'The value before: a topic or member by its id, lists of brokers as [1, 2], iterations of a SCRAM user; null if there was none, or if it is secret.',
  new_value COMMENT 'The value now; null if there is none, or if it is secret. A config that is not set any more has its default.',
  source COMMENT 'Where a config is set, as Kafka names it, e.g. TOPIC_CONFIG; null for other changes.',
  topic COMMENT 'Name of the topic; null if the change is not about a topic.',
  partition COMMENT 'Partition number; null if the change is not about a partition.',
  group_id COMMENT 'group.id; null if the change is not about a group.',
  broker_id COMMENT 'node.id of the broker; null if the change is not about a broker.',
  is_proven COMMENT 'False for a topic or group that was added or removed while the list may be incomplete: permissions or settings may have changed instead.'
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
